# SPDX-License-Identifier: MIT
"""The machine a result is of."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    return found.group(1).strip() if found else ""


def cpu() -> str:
    """The processor's name."""
    return _first(r"^model name\s*:\s*(.+)$", _read("/proc/cpuinfo")) or platform.processor()


def libc() -> str:
    """The C library with its version."""
    return " ".join(platform.libc_ver())


def first_line(command: Sequence[str]) -> str:
    """Of what a command says, such as a compiler of its version."""
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    return (said.stdout or said.stderr).strip().split("\n")[0]


def transparent_huge_pages() -> str:
    """Their mode: always, madvise, never; unknown where the kernel has none."""
    return _first(r"\[(\w+)\]", _read("/sys/kernel/mm/transparent_hugepage/enabled")) or "unknown"


def reserved_huge_pages() -> int:
    """How many the kernel keeps for those who ask."""
    return int(_first(r"^HugePages_Total:\s+(\d+)", _read("/proc/meminfo")) or 0)


def describe() -> dict[str, Any]:
    """What a reader needs to judge the figures; no names of host or user."""
    memory_kb = _first(r"^MemTotal:\s+(\d+)", _read("/proc/meminfo"))
    return {
        "cpu": cpu(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": int(memory_kb or 0) * 1024,
        "kernel": platform.release().split("-")[0],
        "system": _first(r'^PRETTY_NAME="?([^"\n]+)', _read("/etc/os-release")),
        "libc": libc(),
        "transparent_huge_pages": transparent_huge_pages(),
        "is_virtual": "hypervisor" in _first(r"^flags\s*:\s*(.+)$", _read("/proc/cpuinfo")).split(),
        "load_average": round(os.getloadavg()[0], 2),
    }
