# SPDX-License-Identifier: MIT
"""The allocators that a replay may use."""

from __future__ import annotations

from pathlib import Path

from heapwright.cli import native_programs
from heapwright.measure.allocators import Shelf


def shelf_of_here() -> Shelf:
    """Those of this machine, and of the build folder."""
    lab = native_programs.find("heapwright-lab")
    build = lab.parent.parent
    built = Path.cwd() / "build"
    return Shelf(lab, [build, build.parent, built / "release", built])
