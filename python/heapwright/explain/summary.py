# SPDX-License-Identifier: MIT
"""The report's first part: what ran, whether the recording is complete, totals, what stands out."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from heapwright.explain import allocator_shares, coverage, estimates
from heapwright.explain.page_faults import PROCESSOR
from heapwright.explain.report import CPU_NS, Answer, Finding, Report, heaviest, share
from heapwright.model import Trace, waiting
from heapwright.model.facts import Peak, Span, Totals
from heapwright.model.libraries import CONTEXT
from heapwright.model.records import END_REASONS, End, Metadata
from heapwright.report import units
from heapwright.report.columns import OPEN, Choice, Column, Many, fields_of, record

_FINDINGS = 7
_SIGNALS = {1: "SIGHUP", 2: "SIGINT", 4: "SIGILL", 6: "SIGABRT", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV",
            13: "SIGPIPE", 15: "SIGTERM"}  # fmt: skip


def answer(report: Report, findings: Sequence[Finding]) -> Answer:
    """The summary as plain data."""
    found = record(FIGURES, _Source(report, findings), {})
    spreads = report.facts.spreads
    if spreads is not None:
        mean = report.trace.metadata.sample_mean_bytes
        estimates.complete_record(found, FIGURES, estimates.of_all(spreads), mean)
    return found


class _Source(NamedTuple):
    report: Report
    findings: Sequence[Finding]


def _sum(field: str) -> Callable[[_Source, Answer], int]:
    return lambda source, _: sum(getattr(site, field) for site in source.report.facts.sites)


def _end(source: _Source, _: Answer) -> Answer:
    end = source.report.trace.end
    return {"reason": end.reason, "status": end.status, "text": end_in_words(end)}


def _started(source: _Source, _: Answer) -> str:
    return datetime.fromtimestamp(source.report.trace.metadata.start_unix_ns / 1e9, UTC).isoformat()


def _duration(source: _Source, _: Answer) -> int:
    return source.report.trace.end.time_ns or source.report.facts.totals.span_ns


def _contexts(source: _Source, _: Answer) -> int:
    trace = source.report.trace
    paths = [module.path for module in trace.modules]
    if CONTEXT not in paths:
        return 0
    return trace.frame_columns["module"].tolist().count(paths.index(CONTEXT))


def _conditions(source: _Source, _: Answer) -> list[Answer]:
    values = source.report.trace.metadata.condition_values
    return [{"name": name, "value": value} for name, value in values.items()]


def _heaviest(source: _Source, _: Answer) -> list[Answer]:
    """What would name an address is said once, at the first."""
    found = [
        {
            "text": finding.text,
            "question": finding.question,
            "parts": list(finding.parts),
            "is_nothing": finding.is_nothing,
            "naming": "",
        }
        for finding in heaviest(source.findings, _FINDINGS)
    ]
    for finding in found:
        if library := address_in(str(finding["text"])):
            finding["naming"] = naming(library, source.report.trace.symbols().problems())
            break
    return found


_ADDRESS = re.compile(r"([^\s()]+)\+0x[0-9a-f]+")  # of a function without a name


def address_in(text: str) -> str:
    """The library of the first function without a name in the text; "" if all have one.

    >>> address_in("a site in libz.so.1+0x1f0"), address_in("inflate")
    ('libz.so.1', '')
    """
    address = _ADDRESS.search(text)
    return address[1] if address else ""


def naming(library: str, problems: Sequence[str]) -> str:
    """Of the problems with files of symbols, that of the library's own; its file may have more of a version.

    >>> naming("libz.so.1", ["/lib/libz.so.1.2.13 is stripped: 3 of 3 frames have no name; install …"])
    '/lib/libz.so.1.2.13 is stripped: 3 of 3 frames have no name; install …'
    >>> naming("app", ["/opt/app2 is not on this machine: …"])
    ''
    """
    files = ((one, one.split(" ", 1)[0].rsplit("/", 1)[-1]) for one in problems)
    return next((one for one, name in files if f"{name}.".startswith(f"{library}.")), "")


def _about_process(name: str) -> Callable[[_Source, Answer], Any]:
    return lambda source, _: processes_of(source.report.trace.metadata)[name]


_COMPLETENESS = (
    Column("is_complete", "flag"),
    Column(
        "covers_whole_run",
        "flag",
        about="The process was recorded from its beginning to its end, without a pause.",
    ),
    Column(
        "coverage",
        Many(fields_of(Span)),
        about="The recorded part of the selected time, which is_complete refers to.",
    ),
    Column("dropped"),
    Column("sequence_gaps"),
    Column("reasons", Many("text")),
    Column(
        "cut_stacks",
        Many("text"),
        about="Why stacks did not reach their outermost frame: sites are right, their callers unknown.",
    ),
)
_TOTALS = fields_of(
    Totals,
    allocations="allocations",
    requested_bytes="bytes",
    **dict.fromkeys(
        (
            "events",
            "releases",
            "reallocs",
            "failed",
            "null_frees",
            "usable_bytes",
            "zero_size",
            "allocator_ns",
        ),
        OPEN,
    ),
)
_PEAK = fields_of(Peak, live_bytes="peak_bytes", live_blocks="peak_blocks", live_usable_bytes=OPEN)
_CONDITIONS = (Column("name", "text"), Column("value", "text"))
_UNRECORDED = (Column("process_id"), Column("program", "text"), Column("reason", "text"))

FIGURES = (
    *(Column(name, "text", value=f"report.trace.metadata.{name}") for name in ("program", "command", "host")),
    Column("process_id", value="report.trace.metadata.process_id"),
    Column("allocator", "text", value="report.trace.metadata.allocator"),
    Column(
        "allocators",
        Many(allocator_shares.SHARES),
        value=lambda of, _: allocator_shares.shares_of(of.report),
        about="Where the calls of two were recorded, what is whose; otherwise empty, as for sampled calls.",
    ),
    Column("conditions", Many(_CONDITIONS), value=_conditions),
    Column("started", "moment", value=_started),
    Column("duration_ns", "ns", value=_duration),
    Column(
        "end",
        (Column("reason", Choice(END_REASONS)), Column("status", "integer"), Column("text", "text")),
        value=_end,
    ),
    Column("completeness", _COMPLETENESS, value=lambda of, _: coverage.record(of.report)),
    Column(
        "is_attached",
        "flag",
        value="report.trace.metadata.is_attached",
        about="The recorder attached to a running process: earlier blocks are unknown.",
    ),
    Column(
        "forgotten_before_ns",
        "ns",
        value="report.trace.metadata.forgotten_before_ns",
        about="Of earlier calls, only blocks still live then are known, and they are in no total. "
        "0: none were forgotten.",
    ),
    Column("is_filtered", "flag", value=lambda of, _: not of.report.chosen.is_everything),
    Column("sample_mean_bytes", "bytes", value="report.trace.metadata.sample_mean_bytes"),
    Column("durations_recorded", "flag", value="report.trace.metadata.durations_recorded"),
    Column("notes", Many("text"), value=lambda of, _: _notes(of.report.trace)),
    Column("is_fork_child", "flag", value=_about_process("is_fork_child")),
    Column("parent_process_id", value=_about_process("parent_process_id")),
    Column("unrecorded_processes", Many(_UNRECORDED), value=_about_process("unrecorded_processes")),
    Column("children_left_alone", value=_about_process("children_left_alone")),
    Column("threads", value=lambda of, _: len(of.report.trace.threads)),
    Column("contexts", value=_contexts, about="That the program named (heapwright/annotate.h)."),
    Column("totals", _TOTALS, value="report.facts.totals"),
    Column("peak", _PEAK, value="report.facts.peak"),
    Column("temporaries", value="report.facts.temporaries", sampled=OPEN),
    Column("live_at", "live_at", value=lambda of, _: coverage.live_at(of.report)),
    Column("live_at_end_bytes", "bytes", value=_sum("live_at_end_bytes"), sampled="end_bytes"),
    Column("live_at_end_blocks", value=_sum("live_at_end_blocks"), sampled="end_blocks"),
    Column("allocation_latency", "latency", value="report.facts.allocation_latency", sampled=OPEN),
    Column("release_latency", "latency", value="report.facts.release_latency", sampled=OPEN),
    Column("cpu_ns", "ns", value="report.cpu_ns", about=CPU_NS.about),
    Column("thread_time_ns", "ns", value="report.thread_time_ns", about="Wall time, with sleep and waiting."),
    Column(
        "allocator_share",
        "share",
        value=lambda of, _: share(of.report.facts.totals.allocator_ns, of.report.base_ns),
        about="Time in the allocator, of the CPU time.",
        sampled=OPEN,
    ),
    Column(
        "page_faults",
        PROCESSOR,
        value=lambda of, _: record(PROCESSOR, of.report, {}),
        about="Of the whole process; see the question page_faults.",
    ),
    Column(
        "doubtful_ns",
        "ns",
        value="report.facts.kernel.doubtful_ns",
        about="Time of heap calls with dropped kernel records, which may be waits. In no other time.",
        sampled=OPEN,
    ),
    Column(
        "not_checked",
        "text",
        value="report.not_checked",
        about="Why no replay tried the remedies: their gains are bounds. May be empty; see --check.",
    ),
    Column(
        "findings",
        Many(
            (
                Column("text", "text"),
                Column("question", "text"),
                Column("parts", Many("text")),
                Column(
                    "is_nothing",
                    "flag",
                    about="It says that there is nothing to change, or that this is not known.",
                ),
                Column("naming", "text", about="What would name an address in the text. May be empty."),
            )
        ),
        value=_heaviest,
    ),
)


def _notes(trace: Trace) -> list[str]:
    waited = waiting.note(trace.threads, trace.end.time_ns)
    return [*trace.metadata.notes, *([waited] if waited else [])]


def processes_of(metadata: Metadata) -> Answer:
    """The process's parent, and its child processes without a trace."""
    return {
        "is_fork_child": metadata.is_fork_child,
        "parent_process_id": metadata.parent_process_id,
        "unrecorded_processes": [process._asdict() for process in metadata.unrecorded],
        "children_left_alone": metadata.children_left_alone,
    }


def end_in_words(end: End) -> str:
    """How a recording ended."""
    signal = _SIGNALS.get(end.status, f"signal {end.status}")
    return {
        "missing": "the file has no end mark: it was cut, or the collector was killed",
        "exited": f"exited with code {end.status}" if end.status >= 0 else "exited",
        "killed": f"killed by {signal}",
        "replaced": "replaced itself with another program (exec)",
        "size_limit": "recording stopped at its size limit (--max-size, --room)",
        "duration_limit": "recording stopped at its time limit (--duration)",
        "write_failed": (
            f"writing the trace failed (errno {end.status}): {os.strerror(end.status).lower()},"
            " the rest is missing"
        ),
        "stopped": "recording was stopped on request",
        "recorder_lost": "the recorder was lost: heapwright-attach was killed",
        "still_running": f"taken while the program ran, {units.duration(end.time_ns)} after its start",
    }.get(end.reason, end.reason)
