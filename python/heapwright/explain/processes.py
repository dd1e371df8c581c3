# SPDX-License-Identifier: MIT
"""The processes of a recording: one line each, sums by program, and those without a trace and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from heapwright.explain.report import Answer
from heapwright.explain.summary import end_in_words
from heapwright.model.facts import Facts
from heapwright.model.session import Session, facts_of, name_of
from heapwright.model.trace import Trace
from heapwright.report import terminal, units, widgets
from heapwright.report.columns import TEXT, WORD, Column, Many, record

SCHEMA = "heapwright.processes/1"
_SUMMED = ("calls", "allocations", "requested_bytes", "live_at_end_bytes", "allocator_ns")


class _Image(NamedTuple):
    trace: Trace
    facts: Facts


def _parent(process: Answer, _: Answer) -> str:
    return f"{process['parent_process_id']}{' fork' if process['is_fork_child'] else ''}"


def _lasted(process: Answer, _: Answer) -> str:
    return units.duration(max(0, process["end_ns"] - process["first_ns"]))


def _complete(process: Answer, _: Answer) -> str:
    return "yes" if process["is_complete"] else "NO"


def _first_ns(image: _Image, _: Answer) -> int:
    return min((thread.first_ns for thread in image.trace.threads), default=image.trace.end.time_ns)


def _live_at_end(field: str) -> Callable[[_Image, Answer], int]:
    return lambda image, _: sum(getattr(site, field) for site in image.facts.sites)


_PROCESS = (
    Column(
        "process_id", "count", "process", "trace.metadata.process_id", lambda one, _: str(one["process_id"])
    ),
    Column("parent_process_id", value="trace.metadata.parent_process_id"),
    Column("is_fork_child", "flag", value="trace.metadata.is_fork_child"),
    Column("", WORD, "parent", text=_parent),
    Column("program", TEXT, value="trace.metadata.program"),
    Column("file", TEXT, value="trace.path"),
    Column("first_ns", "ns", "from", _first_ns),
    Column("end_ns", "ns", "for", "trace.end.time_ns", _lasted),
    Column("calls", "count", "calls", "facts.totals.events"),
    Column("allocations", value="facts.totals.allocations"),
    Column("requested_bytes", "bytes", value="facts.totals.requested_bytes"),
    Column("peak_bytes", "bytes", "peak", "facts.peak.live_bytes"),
    Column("live_at_end_bytes", "bytes", "live at end", _live_at_end("live_at_end_bytes")),
    Column("live_at_end_blocks", value=_live_at_end("live_at_end_blocks")),
    Column("inherited_releases", value="facts.totals.inherited_releases"),
    Column("allocator_ns", "ns", value="facts.totals.allocator_ns"),
    Column("is_complete", "flag", "complete", "facts.completeness.is_complete", _complete),
    Column("reasons", Many(TEXT), value=lambda image, _: list(image.facts.completeness.reasons)),
    Column("name", TEXT, "program", lambda image, _: name_of(image.trace)),
    Column("end", TEXT, "end", lambda image, _: end_in_words(image.trace.end)),
)
_PROGRAM = (
    Column("images", "count", "images"),
    Column("calls", "count", "calls"),
    Column("allocations"),
    Column("requested_bytes", "bytes", "bytes"),
    Column("highest_peak_bytes", "bytes", "highest peak"),
    Column("live_at_end_bytes", "bytes", "live at end"),
    Column("allocator_ns", "ns", "allocator"),
    Column("program", TEXT, "program"),
    Column("name", TEXT),
)
_NOT_RECORDED = (
    Column("process_id", "count_or_null", value=lambda one, _: one.process_id or None),
    Column("parent_process_id"),
    Column("program", TEXT),
    Column("reason", TEXT),
)
DOCUMENT = (
    Column("file", TEXT),
    Column("processes", Many(_PROCESS)),
    Column("programs", Many(_PROGRAM)),
    Column("not_recorded", Many(_NOT_RECORDED)),
    Column("without_calls"),
    Column("children_left_alone"),
    Column("starts_lost"),
    Column("unreadable", Many(TEXT)),
    Column("left_out"),
)


def answer(session: Session) -> Answer:
    """Everything about the processes as plain data."""
    processes = [record(_PROCESS, _Image(trace, facts_of(trace)), {}) for trace in session.traces]
    idle = [one for one in session.unrecorded if one.made_no_call]
    return {
        "schema": SCHEMA,
        "file": str(session.path),
        "processes": processes,
        "programs": _by_program(processes),
        "not_recorded": [
            record(_NOT_RECORDED, one, {}) for one in session.unrecorded if not one.made_no_call
        ],
        "without_calls": len(idle),
        "children_left_alone": session.children_left_alone,
        "starts_lost": session.starts_lost,
        "unreadable": session.unreadable,
        "left_out": session.left_out,
    }


def _by_program(processes: Iterable[Answer]) -> list[Answer]:
    programs: dict[str, Answer] = {}
    for process in processes:
        sums = programs.setdefault(
            process["program"],
            {"program": process["program"], "name": process["name"], "images": 0, "highest_peak_bytes": 0}
            | dict.fromkeys(_SUMMED, 0),
        )
        sums["images"] += 1
        sums["highest_peak_bytes"] = max(sums["highest_peak_bytes"], process["peak_bytes"])
        for name in _SUMMED:
            sums[name] += process[name]
    return sorted(programs.values(), key=lambda sums: -int(sums["calls"]))


def show(answer: Answer, top: int) -> widgets.RenderableType:
    """Warnings, the busiest processes, sums by program."""
    parts: list[widgets.RenderableType] = [widgets.Text(line, style=style) for line, style in _lines(answer)]
    busiest = sorted(answer["processes"], key=lambda process: -int(process["calls"]))[:top]
    parts += [widgets.Text(), widgets.Text("Processes", style="bold"), terminal.table(_PROCESS, busiest)]
    rest = len(answer["processes"]) - len(busiest)
    if rest:
        parts.append(widgets.Text(f"{units.counted(rest, 'more process image')}: --top or --json lists all"))
    parts += [
        widgets.Text(),
        widgets.Text("Programs", style="bold"),
        terminal.table(_PROGRAM, answer["programs"][:top]),
    ]
    return widgets.Group(*parts)


def _lines(answer: Answer) -> list[tuple[str, str]]:
    broken = [process for process in answer["processes"] if not process["is_complete"]]
    named, lost = answer["not_recorded"], answer["starts_lost"] + len(answer["unreadable"])
    lines = []
    if not (broken or named or lost or answer["children_left_alone"]):
        lines.append(("complete: every started process is here, with every call", "green"))
    if broken:
        images = units.counted(len(broken), "process image is", "process images are")
        first = f"{broken[0]['name']} {broken[0]['process_id']}: {'; '.join(broken[0]['reasons'])}"
        lines.append((f"INCOMPLETE: {images} incomplete, first {first}", "bold red"))
    for (program, reason), number in Counter((one["program"], one["reason"]) for one in named).most_common():
        was = units.counted(number, "process was", "processes were")
        lines.append((f"{was} not recorded: {program + ': ' if program else ''}{reason}", "yellow"))
    if answer["starts_lost"]:
        lines.append(
            (f"{units.counted(answer['starts_lost'], 'more start')} could not be followed", "yellow")
        )
    lines += [(f"not read: {reason}", "yellow") for reason in answer["unreadable"]]
    if answer["children_left_alone"]:
        alone = units.counted(answer["children_left_alone"], "child process was", "child processes were")
        lines.append((f"{alone} not recorded (--children records them)", "yellow"))
    if answer["without_calls"]:
        idle = units.counted(answer["without_calls"], "forked child", "forked children")
        lines.append((f"{idle} made no heap call: nothing to record", ""))
    if answer["left_out"]:
        other = units.counted(answer["left_out"], "trace")
        lines.append((f"{other} of other recordings in this folder ignored; this is the latest", ""))
    return lines
