# SPDX-License-Identifier: MIT
"""Remedies for try: those that a recording's ranked list names, and what each does to a process."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from heapwright import explain as explaining
from heapwright.cli import judge
from heapwright.explain.replayed import ReplayedFigure
from heapwright.measure.allocators import REFERENCE, Shelf
from heapwright.measure.errors import MeasureError
from heapwright.replay import obedience, settings
from heapwright.replay.candidates import C_LIBRARY, Candidate, is_c_library
from heapwright.replay.remedy import Remedy
from heapwright.trial.run import Way


def of_recording(report: explaining.Report) -> tuple[list[judge.Wanted], list[str]]:
    """What explain ranks and needs no source; without any, settings that a quick check tries. And notes."""
    wanted = judge.remedies_of(explaining.answers(report, ("cause", "advice")))
    without_source = [one for one in wanted if not one.remedy.needs_source]
    found = [one for one in without_source if can_be_tried(one.remedy)]
    left_out = dict.fromkeys(one.remedy.text for one in without_source if one not in found)
    notes = [f"not tried, since only a replay can do it so far: {', '.join(left_out)}"] if left_out else []
    if found:
        return found, notes
    others = judge.settings_of(report)
    if not others:
        raise MeasureError(
            "explain names no remedy for this recording that can be tried without source; name one, such as "
            "--remedy on:heapwright"
        )
    notes.append("explain names no remedy that can be tried: these are settings that often matter")
    return others, notes


def can_be_tried(remedy: Remedy) -> bool:
    """Whether this installation can do it to a process."""
    return not remedy.change


def way_of(remedy: Remedy, shelf: Shelf, recorded_on: str = "") -> Way:
    """How the program is run with it; MeasureError. recorded_on: the allocator as the recording names it."""
    if not can_be_tried(remedy):
        raise MeasureError(
            f"{remedy.text} cannot be tried yet: what call sites get is only predicted; "
            f"heapwright replay FILE --change '{remedy.change}' does"
        )
    variables: dict[str, str] = {}
    library = ""
    if remedy.allocator:
        base = shelf.choose([remedy.allocator])[0]
        library = base.path
        before = os.environ.get("LD_PRELOAD", "")
        if base.name == REFERENCE and (remedy.on or (recorded_on and not is_c_library(recorded_on))):
            library = C_LIBRARY  # first in line before an allocator that the program is linked with
        preload = _preload(before, library, shelf)
        if preload != before and (remedy.on or library):
            variables["LD_PRELOAD"] = preload
        if remedy.settings:
            variables |= _of_settings(remedy, shelf, base.version, base.path)
    is_of_settings = remedy.allocator if remedy.settings else ""
    return Way(remedy.text, variables, library if "/" in library else "", is_of_settings)


def _of_settings(remedy: Remedy, shelf: Shelf, version: str, path: str) -> dict[str, str]:
    allocator, chosen = settings.parse(remedy.settings)
    alone = settings.environment_of(allocator, chosen)
    candidate = Candidate(f"{allocator} {remedy.settings}", version, path, alone)
    obedience.check(shelf, candidate, allocator, chosen)
    own = {name: value for name, value in os.environ.items() if name in alone}
    return settings.environment_of(allocator, chosen, own)


def _preload(before: str, library: str, shelf: Shelf) -> str:
    """Other allocators leave the list, and the library comes first."""
    known = {Path(path).resolve() for path in shelf.files().values() if path}
    others = [path for path in before.replace(":", " ").split() if Path(path).resolve() not in known]
    return ":".join([*([library] if library else []), *others])


def replayed(
    report: explaining.Report, wanted: Sequence[judge.Wanted], is_ranked: bool
) -> tuple[Mapping[str, list[ReplayedFigure]], str]:
    """What a quick replay says, by remedy, and why it says nothing. is_ranked: asked as by explain: kept."""
    found, why = judge.replayed(report, wanted, is_kept=is_ranked)
    return {one.remedy.text: list(found[one.key]) for one in wanted if one.key in found}, why
