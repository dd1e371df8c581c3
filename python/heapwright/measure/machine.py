# SPDX-License-Identifier: MIT
"""The machine of a result."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import time
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


class OtherWork:
    """What others take of the machine's processors, from its making on."""

    def __init__(self) -> None:
        self._begin = self._taken()

    def share(self) -> float:
        """Of all processors until now, 0 to 1; this process and its ended children are left out."""
        passed_s, all_s, own_s = (now - then for now, then in zip(self._taken(), self._begin, strict=True))
        whole_s = passed_s * (os.cpu_count() or 1)
        return min(max(all_s - own_s, 0.0) / whole_s, 1.0) if whole_s > 0 else 0.0

    @staticmethod
    def _taken() -> tuple[float, float, float]:
        """Seconds: the clock's, of all processors that were busy (0: unknown), and our own."""
        ticks = [int(text) for text in _first(r"^cpu\s+([\d ]+)$", _read("/proc/stat")).split()]
        # user, nice, system, idle, iowait, irq, softirq, steal
        busy = sum(ticks[:3]) + sum(ticks[5:8])
        return time.monotonic(), busy / os.sysconf("SC_CLK_TCK"), sum(os.times()[:4])


def describe() -> dict[str, Any]:
    """What a reader needs to judge the figures, without host and user names."""
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
