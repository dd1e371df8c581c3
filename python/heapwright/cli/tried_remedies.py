# SPDX-License-Identifier: MIT
"""Remedies for try: those that a recording's ranked list names, and what each does to a process."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from heapwright import explain as explaining
from heapwright.apply.remedy_file import RemedyError, RemedyFile
from heapwright.cli import judge, native_programs, output
from heapwright.cli.explanation import largest_bytes
from heapwright.explain.replayed import ReplayedFigure
from heapwright.measure.allocators import REFERENCE, Shelf
from heapwright.measure.errors import MeasureError
from heapwright.model import Trace
from heapwright.replay import obedience, settings
from heapwright.replay.candidates import C_LIBRARY, Candidate, is_c_library
from heapwright.replay.remedy import Remedy, without_source
from heapwright.trial.run import DID_NOTHING, Way

# What the library writes where it does not apply a remedy: the file has another build than the recording, the
# allocator has nothing to trim, the program its own malloc.
_IS_OFF = r"^heapwright: (\S+@.* is off: .*|\S+: .*; (?:\S+ is off|no remedy is applied))$"

# What the library says at a process's end (HEAPWRIGHT_APPLY_STATS), and what a 0 there means.
_DEEDS_TO = "HEAPWRIGHT_APPLY_STATS"
_DEEDS = (
    (
        r"heapwright: ((?:segregate|reuse|defer)@.*): (\d+) blocks made",
        f"{DID_NOTHING}none of its calls was made",
    ),
    (
        r"heapwright: (reuse@.*): [1-9]\d* blocks made, (\d+) of them again",
        "used no block again: it keeps freed ones of more than 64 KiB",
    ),
    (r"heapwright: (defer@.*): [1-9]\d* blocks made, .* (\d+) freed later", "freed no block later"),
    (r"heapwright: (trim:\d+): (\d+) times", f"{DID_NOTHING}the program was never idle for so long"),
    (
        r"heapwright: (skip-frees-at-exit): (\d+) frees",
        f"{DID_NOTHING}no free came after the end of main or the call of exit, or memory has a limit",
    ),
)


def of_recording(report: explaining.Report) -> tuple[list[judge.Wanted], list[str]]:
    """What explain ranks and needs no source; without any, settings that a quick check tries. And notes."""
    wanted = judge.remedies_of(explaining.answers(report, ("cause", "advice")))
    done = [without_source(one.remedy, lambda sites: largest_bytes(report, sites)) for one in wanted]
    found = [
        judge.Wanted(one.key if remedy == one.remedy else remedy.text, remedy)
        for one, remedy in zip(wanted, done, strict=True)
        if remedy is not None
    ]
    if found:
        return list(dict.fromkeys(found)), []
    others = judge.settings_of(report)
    if not others:
        raise MeasureError(
            "explain names no remedy for this recording that can be tried without source; name one, such as "
            "--remedy on:heapwright"
        )
    return others, ["explain names no remedy that can be tried: these are settings that often matter"]


def way_of(remedy: Remedy, shelf: Shelf, trace: Trace | None = None) -> Way:
    """How the program is run with it; MeasureError. Changes of sites are written beside the recording."""
    recorded_on = trace.metadata.allocator if trace is not None else ""
    variables: dict[str, str] = {}
    library = ""
    in_code: list[str] = []
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
    if remedy.change:
        others = variables.get("LD_PRELOAD", os.environ.get("LD_PRELOAD", ""))
        applied = str(native_programs.find_library(native_programs.APPLIER))
        library = library if "/" in library else applied
        variables["LD_PRELOAD"] = ":".join([applied, *([others] if others else [])])
        path, in_code = _remedy_file(remedy, trace)
        variables["HEAPWRIGHT_APPLY"] = str(path)
    library = library if "/" in library else ""
    way = Way(remedy.text, variables, library, is_of_settings, in_code)
    if not remedy.change:
        return way
    parts = 0 if remedy.allocator else len(remedy.applied)
    return way._replace(refusal=_IS_OFF, deeds_to=_DEEDS_TO, deeds=_DEEDS, parts=parts)


def _remedy_file(remedy: Remedy, trace: Trace | None) -> tuple[Path, list[str]]:
    """The file that it wrote, and what does the same in code. Without a recording: in the working folder."""
    text = remedy._replace(on="", settings="").text
    if trace is None and "@" in text:
        raise MeasureError(
            f"{text} cannot be tried without a recording of this program: heapwright record makes one, "
            "heapwright try FILE takes it"
        )
    try:
        file = RemedyFile(trace)
        for change, value in remedy.applied:
            file.add(change, value)
    except RemedyError as error:
        raise MeasureError(str(error)) from None
    beside = Path(trace.path).resolve().with_suffix("") if trace is not None else Path.cwd() / "remedy"
    path = beside.with_name(f"{beside.name}.{re.sub(r'[^A-Za-z0-9_.@:+-]', '_', text)[:80]}.toml")
    output.write_text(path, True, file.text())
    return path, [one.in_code for one in file.remedies]


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
