# SPDX-License-Identifier: MIT
"""The processes of a recording: one line each, sums by program, and who has no trace and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from heapwright.explain.report import Answer
from heapwright.explain.summary import end_in_words
from heapwright.model.session import Session, facts_of, name_of
from heapwright.model.trace import Trace
from heapwright.report import terminal, units, widgets
from heapwright.report.columns import TEXT, WORD, Column

SCHEMA = "heapwright.processes/1"
_SUMMED = ("calls", "allocations", "requested_bytes", "live_at_end_bytes", "allocator_ns")


def _parent(process: Answer, _: Answer) -> str:
    return f"{process['parent_process_id']}{' fork' if process['is_fork_child'] else ''}"


def _lasted(process: Answer, _: Answer) -> str:
    return units.duration(max(0, process["end_ns"] - process["first_ns"]))


def _complete(process: Answer, _: Answer) -> str:
    return "yes" if process["is_complete"] else "NO"


_PROCESS = (
    Column("process_id", "count", "process", text=lambda process, _: str(process["process_id"])),
    Column("parent_process_id", WORD, "parent", text=_parent),
    Column("first_ns", "ns", "from"),
    Column("end_ns", "ns", "for", text=_lasted),
    Column("calls", "count", "calls"),
    Column("peak_bytes", "bytes", "peak"),
    Column("live_at_end_bytes", "bytes", "live at end"),
    Column(
        "is_complete", "flag", "complete", text=lambda process, _: "yes" if process["is_complete"] else "NO"
    ),
    Column("name", TEXT, "program"),
    Column("end", TEXT, "end"),
)
_PROGRAM = (
    Column("images", "count", "images"),
    Column("calls", "count", "calls"),
    Column("requested_bytes", "bytes", "bytes"),
    Column("highest_peak_bytes", "bytes", "highest peak"),
    Column("live_at_end_bytes", "bytes", "live at end"),
    Column("allocator_ns", "ns", "allocator"),
    Column("program", TEXT, "program"),
)


def answer(session: Session) -> Answer:
    """Everything about the processes, as plain data."""
    processes = [_process(trace) for trace in session.traces]
    idle = [one for one in session.unrecorded if one.made_no_call]
    return {
        "schema": SCHEMA,
        "file": str(session.path),
        "processes": processes,
        "programs": _by_program(processes),
        "not_recorded": [
            {
                "process_id": one.process_id or None,
                "parent_process_id": one.parent_process_id,
                "program": one.program,
                "reason": one.reason,
            }
            for one in session.unrecorded
            if not one.made_no_call
        ],
        "without_calls": len(idle),
        "children_left_alone": session.children_left_alone,
        "starts_lost": session.starts_lost,
        "unreadable": session.unreadable,
        "left_out": session.left_out,
    }


def _process(trace: Trace) -> Answer:
    facts, metadata = facts_of(trace), trace.metadata
    return {
        "process_id": metadata.process_id,
        "parent_process_id": metadata.parent_process_id,
        "is_fork_child": metadata.is_fork_child,
        "program": metadata.program,
        "name": name_of(trace),
        "file": trace.path,
        "first_ns": min((thread.first_ns for thread in trace.threads), default=trace.end.time_ns),
        "end_ns": trace.end.time_ns,
        "calls": facts.totals.events,
        "allocations": facts.totals.allocations,
        "requested_bytes": facts.totals.requested_bytes,
        "peak_bytes": facts.peak.live_bytes,
        "live_at_end_bytes": sum(site.live_at_end_bytes for site in facts.sites),
        "live_at_end_blocks": sum(site.live_at_end_blocks for site in facts.sites),
        "inherited_releases": facts.totals.inherited_releases,
        "allocator_ns": facts.totals.allocator_ns,
        "is_complete": facts.completeness.is_complete,
        "reasons": list(facts.completeness.reasons),
        "end": end_in_words(trace.end),
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
        lines.append(("complete: every process that was started is here, with every call", "green"))
    if broken:
        images = units.counted(len(broken), "process image is", "process images are")
        first = f"{broken[0]['name']} {broken[0]['process_id']}: {'; '.join(broken[0]['reasons'])}"
        lines.append((f"INCOMPLETE: {images} not whole, first {first}", "bold red"))
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
        lines.append((f"{other} of other recordings in this folder left out; this is the latest", ""))
    return lines
