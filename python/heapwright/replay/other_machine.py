# SPDX-License-Identifier: MIT
"""Differences between a recording's machine and this one that affect allocators."""

from __future__ import annotations

import platform
from collections.abc import Mapping

from heapwright.measure import machine

# By the name of the recorded condition: its label, and what it means for the replay.
_COMPARED = {
    "architecture": ("architecture", "blocks have other sizes there, and times are not comparable"),
    "cpus": ("number of CPUs", "allocators adapt to it"),
    "transparent_huge_pages": ("mode of transparent huge pages", "resident memory may be far off"),
    "kernel": ("kernel", "costs of faults and system calls may differ"),
}


def here() -> dict[str, str]:
    """The conditions of this machine, like those recorded."""
    found = machine.describe()
    return {
        "architecture": platform.machine(),
        **{name: str(found[name]) for name in ("cpus", "transparent_huge_pages", "kernel")},
    }


def notes(recorded: Mapping[str, str], own: Mapping[str, str]) -> list[str]:
    """One line for each difference; conditions missing from the recording are skipped."""
    return [
        f"{what} of the recording: {recorded[name]}, of the replay: {own[name]}; {meaning}"
        for name, (what, meaning) in _COMPARED.items()
        if recorded.get(name) and recorded[name] != own[name]
    ]
