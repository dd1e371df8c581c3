# SPDX-License-Identifier: MIT
"""Checks the remedies on the first screen by a quick replay, before they are shown."""

from __future__ import annotations

import json
import math
import os
import platform
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import heapwright
from heapwright import explain as explaining
from heapwright.cli import endings, native_programs
from heapwright.cli.errors import InputError
from heapwright.cli.progress import progress
from heapwright.cli.shelf import shelf_of_here
from heapwright.explain import cause, page_faults
from heapwright.explain.advice.rule import LOW
from heapwright.explain.replayed import AT_SCAN, ReplayedFigure
from heapwright.measure.errors import MeasureError
from heapwright.measure.verdict import BETTER, SAME, UNKNOWN
from heapwright.model import Trace
from heapwright.model.wholeness import why_not_whole
from heapwright.replay import candidates, changes, other_machine, plans, quick, settings
from heapwright.replay.figures import FIGURES
from heapwright.replay.remedy import Remedy, of_row

_MOST_TRIED = 4
_MOST_ALLOCATORS = 2  # besides them
# Of the recorded time in the allocator: a replay with less does not have its costs.
_MOSTLY_THERE = 0.5
_ALLOCATOR = "allocator"  # of explain/remedy.py's kinds
_HELPING = ("yes", "partly", "unknown")
_LABELS = {figure.key: figure.label for figure in FIGURES} | {"then_bytes": AT_SCAN}
_SCHEMA = "heapwright.check/1"
_MOST_CACHE_BYTES = 1 << 20

Checked = dict[str, list[ReplayedFigure]]


class Wanted(NamedTuple):
    """key: of Report.replayed."""

    key: str
    remedy: Remedy


def checked(trace: Trace, report: explaining.Report) -> explaining.Report:
    """With what a replay of some seconds measured of the main remedies, or of some settings if none of them
    can be tried; unchanged if it cannot tell or is stopped."""
    answers = explaining.answers(report, ("cause", "advice"))
    wanted = remedies_of(answers)
    if wanted:
        found, why = _check(report, wanted, cause.read_at_ns(report))
        return report._replace(replayed={**found, **report.replayed}, not_checked=why)
    return report._replace(searched=_check(report, settings_of(report), -1)[0])


def known(trace: Trace, report: explaining.Report) -> explaining.Report:
    """With what an earlier check measured of the main remedies, if it left that beside the recording."""
    file, moment_ns = _results_of(trace), cause.read_at_ns(report)
    answers = explaining.answers(report, ("cause", "advice"))
    if wanted := remedies_of(answers):
        return report._replace(replayed=_cached(file, _key_of(trace, wanted, moment_ns)) or {})
    wanted = settings_of(report)
    return report._replace(searched=_cached(file, _key_of(trace, wanted, -1)) or {})


def replayed(report: explaining.Report, wanted: Sequence[Wanted], is_kept: bool) -> tuple[Checked, str]:
    """What a replay of some seconds says of these remedies, and why it says nothing. is_kept: beside the
    recording, in place of others."""
    return _check(report, list(wanted), cause.read_at_ns(report), is_kept)


def settings_of(report: explaining.Report) -> list[Wanted]:
    """Settings of the recorded allocator that are worth a try where nothing is advised."""
    family = report.allocator.family
    found = []
    for text in settings.QUICK.get(family, ()):
        variables = settings.environment_of(family, settings.parse(f"{family}.{text}")[1])
        if "arena" in text and len(report.trace.threads) < 2:
            continue
        key = " ".join(f"{name}={value}" for name, value in variables.items())
        found.append(Wanted(key, Remedy("", f"{family}.{text}")))
    return found


def _check(
    report: explaining.Report, wanted: list[Wanted], moment_ns: int, is_kept: bool = True
) -> tuple[Checked, str]:
    """What was measured, and why nothing was."""
    trace = report.trace
    if not wanted:
        return {}, ""
    if why := why_not_checked(trace):
        return {}, why
    key = _key_of(trace, wanted, moment_ns)
    file = _results_of(trace)
    if (known := _cached(file, key)) is not None:
        return known, ""
    within_s = quick.limit_s()
    doing = f"checking the remedies by a replay, at most {within_s:.0f} s (Ctrl-C skips)"
    try:
        with endings.taken_back(), progress(doing) as step:
            found = _replayed(report, wanted, moment_ns, within_s, step)
    except KeyboardInterrupt:
        return {}, "it was stopped"
    except (MeasureError, InputError) as error:
        return {}, str(error)
    if found and is_kept:  # a less busy machine may have time for it
        _keep(file, key, found)
    return found, "" if found else f"it takes more than {within_s:.0f} seconds"


def remedies_of(questions: Mapping[str, Any]) -> list[Wanted]:
    """Those that may be named on the first screen and that a replay can try, other allocators last."""
    rows = [
        row
        for row in questions["cause"].get("remedies", ())
        if (row["replay_set"] or row["replay_change"]) and row["helps"] in _HELPING
    ]
    found = [_wanted(row) for row in rows if row["kind"] != _ALLOCATOR][: _MOST_TRIED - 1]
    found += [
        Wanted(str(row["replay_change"] or row["replay_set"]), of_row(row))
        for row in questions["advice"].get("advice", ())
        if (row["replay_change"] or row["replay_set"]) and row["confidence"] != LOW
    ]
    found = list(dict.fromkeys(found))
    tried = list(dict.fromkeys(one.remedy for one in found))[:_MOST_TRIED]
    others = [_wanted(row) for row in rows if row["kind"] == _ALLOCATOR][:_MOST_ALLOCATORS]
    return [*(one for one in found if one.remedy in tried), *others]


def _wanted(row: Mapping[str, Any]) -> Wanted:
    return Wanted(str(row["replay_change"] or row["what"]), of_row(row))


def why_not_checked(trace: Trace) -> str:
    """Why a replay here says nothing of this recording; empty: it does."""
    if reasons := why_not_whole(trace):
        return reasons[0]
    metadata = trace.metadata
    if metadata.page_bytes != plans.PAGE_BYTES:
        return f"it was recorded with pages of {metadata.page_bytes} bytes"
    if metadata.host != platform.node():
        return f"it was recorded on another machine, {metadata.host or 'whose name is unknown'}"
    notes = other_machine.notes(metadata.condition_values, other_machine.here())
    return notes[0] if notes else ""


def _replayed(
    report: explaining.Report, wanted: list[Wanted], moment_ns: int, within_s: float, step: quick.Progress
) -> Checked:
    trace = report.trace
    program = native_programs.find("heapwright-replay")
    shelf = shelf_of_here()
    chosen = candidates.choose(shelf, trace.metadata, ["glibc"], [])
    if not chosen.is_recorded:
        raise MeasureError(chosen.notes[0])
    recorded = chosen.candidates[0]
    tried: dict[Remedy, candidates.Candidate] = {}
    asked: dict[str, changes.Change] = {}
    # A setting may be the remedy of a question and of a rule: it is tried once.
    for remedy in dict.fromkeys(one.remedy for one in wanted):
        if remedy.change:
            asked[remedy.change] = changes.parse(remedy.change, trace)
        if remedy.allocator in ("", *shelf.files()) or "/" in remedy.allocator:
            tried[remedy] = candidates.with_remedy(shelf, recorded, remedy)
    chosen = candidates.Chosen([recorded, *tried.values()], True, [])
    live_blocks = sum(site.live_at_peak_blocks for site in report.facts.sites)
    said = quick.Quick(program, trace, chosen, asked, moment_ns, within_s, live_blocks).run(step)
    recorded_ns = report.facts.totals.allocator_ns
    is_seen = not page_faults.not_seen(report)
    spared_ns = recorded_ns + page_faults.outside_calls_ns(report) if is_seen else math.inf
    found = {
        remedy: _figures(said[one.name], remedy.change, one.name.split()[0], recorded_ns, spared_ns)
        for remedy, one in tried.items()
        if one.name in said and said[one.name].figures
    }
    return {one.key: found[one.remedy] for one in wanted if one.remedy in found}


def _figures(
    tried: quick.Tried, change: str, on: str, recorded_ns: int, most_ns: float = math.inf
) -> list[ReplayedFigure]:
    """most_ns: what the calls and the pages taken again cost in the recording.

    Inline room makes its owners larger, which a replay leaves out: no memory of that change is judged.
    """
    return [
        ReplayedFigure(
            _LABELS[key],
            "ns" if key == "time_ns" else "bytes",
            told.difference * (part := _part_of_run(told, most_ns)),
            told.relative_difference,
            _verdict(told, "@" in change, recorded_ns),
            on,
            (told.resolution or 0.0) * part,
        )
        for key, told in tried.figures.items()
        if key == "time_ns" or not change.startswith("small_vector")
    ]


def _part_of_run(told: quick.Told, most_ns: float) -> float:
    """What a nanosecond that a replay spares is in the recording. A replay's pages may cost more than the
    program's: it would spare 7.8 ms where all calls had taken 4.6, and page faults 2."""
    whole_ns = told.unchanged_ns or 0.0
    return most_ns / whole_ns if told.verdict == BETTER and whole_ns > most_ns else 1.0


def _verdict(told: quick.Told, is_change: bool, recorded_ns: int) -> str:
    """The replay's; that code gains no time is unknown where the replay lacks what it would spare: blocks
    that a thread makes and frees again at once take next to no time in its loop."""
    is_lacking = told.unchanged_ns is not None and told.unchanged_ns < _MOSTLY_THERE * recorded_ns
    return UNKNOWN if is_change and is_lacking and told.verdict == SAME else told.verdict


def _results_of(trace: Trace) -> Path:
    return Path(f"{trace.path}.checked.json")


def _key_of(trace: Trace, wanted: list[Wanted], moment_ns: int) -> dict[str, Any]:
    """What results belong to: this file, this version, these remedies, at this moment."""
    found = Path(trace.path).stat()
    return {
        "version": heapwright.__version__,
        "bytes": found.st_size,
        "modified_ns": found.st_mtime_ns,
        "start_unix_ns": trace.metadata.start_unix_ns,
        "process_id": trace.metadata.process_id,
        "moment_ns": moment_ns,
        "remedies": [[one.key, one.remedy.text] for one in wanted],
    }


def _cached(file: Path, key: Mapping[str, Any]) -> Checked | None:
    """Earlier results of the same; None without any, or from a file that others could have written."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as opened:
            about = os.fstat(descriptor)
            is_own = about.st_uid == os.getuid() and not about.st_mode & 0o022
            if not is_own or not stat.S_ISREG(about.st_mode) or about.st_size > _MOST_CACHE_BYTES:
                return None
            document = json.loads(opened.read())
        if document["schema"] != _SCHEMA or document["of"] != key:
            return None
        return {name: [_read(row) for row in rows] for name, rows in document["replayed"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _read(row: Any) -> ReplayedFigure:
    label, unit, difference, relative, verdict, on, resolution = row
    return ReplayedFigure(
        str(label), str(unit), float(difference), float(relative), str(verdict), str(on), float(resolution)
    )


def _keep(file: Path, key: Mapping[str, Any], found: Checked) -> None:
    """Without a folder to write to, the next call measures again."""
    document = {"schema": _SCHEMA, "of": key, "replayed": found}
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    with suppress(OSError):
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            json.dump(document, opened)
        part.replace(file)
