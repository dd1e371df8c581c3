# SPDX-License-Identifier: MIT
"""What a recording's machine has otherwise than this one, where allocators go by it."""

from __future__ import annotations

import platform
from collections.abc import Mapping

from heapwright.measure import machine

# By the name of the recorded condition: what it is, and what that means for the replay.
_COMPARED = {
    "architecture": ("architecture", "blocks have other sizes there, times say nothing of it"),
    "cpus": ("number of processors", "allocators adapt to it"),
    "transparent_huge_pages": ("mode of transparent huge pages", "resident memory may be far off"),
    "kernel": ("kernel", "what faults and system calls take may differ"),
}


def here() -> dict[str, str]:
    """Of this machine what the recorder says of its own."""
    found = machine.describe()
    return {
        "architecture": platform.machine(),
        **{name: str(found[name]) for name in ("cpus", "transparent_huge_pages", "kernel")},
    }


def notes(recorded: Mapping[str, str], own: Mapping[str, str]) -> list[str]:
    """One line for each difference; of what the recording does not say nothing is said."""
    return [
        f"{what} of the recording: {recorded[name]}, of the replay: {own[name]}; {meaning}"
        for name, (what, meaning) in _COMPARED.items()
        if recorded.get(name) and recorded[name] != own[name]
    ]
