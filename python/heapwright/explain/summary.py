# SPDX-License-Identifier: MIT
"""The first screen: what ran, whether the recording is whole, the totals, what stands out."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from heapwright.explain import coverage, estimates, look
from heapwright.explain.report import Answer, Finding, Report, heaviest, share
from heapwright.model.records import End, Metadata
from heapwright.report import units

_FINDINGS = 6
_UNRECORDED = 5
_SIGNALS = {1: "SIGHUP", 2: "SIGINT", 4: "SIGILL", 6: "SIGABRT", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV",
            13: "SIGPIPE", 15: "SIGTERM"}  # fmt: skip


def answer(report: Report, findings: Sequence[Finding]) -> Answer:
    """The summary as plain data."""
    trace, facts = report.trace, report.facts
    metadata = trace.metadata
    document = {
        "program": metadata.program,
        "command": metadata.command,
        "host": metadata.host,
        "process_id": metadata.process_id,
        "allocator": metadata.allocator,
        "started": datetime.fromtimestamp(metadata.start_unix_ns / 1e9, UTC).isoformat(),
        "duration_ns": trace.end.time_ns or facts.totals.span_ns,
        "end": {"reason": trace.end.reason, "status": trace.end.status, "text": ended(report)},
        "completeness": coverage.record(report),
        "is_filtered": not report.chosen.is_everything,
        "sample_mean_bytes": metadata.sample_mean_bytes,
        "durations_recorded": metadata.durations_recorded,
        "notes": list(metadata.notes),
        **processes_of(metadata),
        "threads": len(trace.threads),
        "totals": facts.totals._asdict(),
        "peak": facts.peak._asdict(),
        "temporaries": facts.temporaries,
        "live_at": coverage.live_at(report),
        "live_at_end_bytes": sum(site.live_at_end_bytes for site in facts.sites),
        "live_at_end_blocks": sum(site.live_at_end_blocks for site in facts.sites),
        "allocation_latency": facts.allocation_latency._asdict(),
        "release_latency": facts.release_latency._asdict(),
        "allocator_share": share(facts.totals.allocator_ns, report.thread_time_ns),
        "findings": [
            {"text": finding.text, "question": finding.question} for finding in heaviest(findings, _FINDINGS)
        ],
    }
    estimates.complete_summary(report, document)
    return document


def processes_of(metadata: Metadata) -> Answer:
    """Where the process came from, and what it started that has no trace."""
    return {
        "is_fork_child": metadata.is_fork_child,
        "parent_process_id": metadata.parent_process_id,
        "unrecorded_processes": [process._asdict() for process in metadata.unrecorded],
        "children_left_alone": metadata.children_left_alone,
    }


def ended(report: Report) -> str:
    """How the recording ended, in words."""
    return end_in_words(report.trace.end)


def end_in_words(end: End) -> str:
    """The same of an end mark."""
    signal = _SIGNALS.get(end.status, f"signal {end.status}")
    return {
        "missing": "the file has no end mark: it was cut, or the collector was killed",
        "exited": f"exited with code {end.status}" if end.status >= 0 else "exited",
        "killed": f"killed by {signal}",
        "replaced": "replaced itself by another program (exec)",
        "size_limit": "recording stopped at its size limit (--max-size)",
        "duration_limit": "recording stopped at its time limit (--duration)",
        "write_failed": (
            f"writing the trace failed (errno {end.status}): {os.strerror(end.status).lower()},"
            " the rest is missing"
        ),
        "stopped": "recording was stopped on request",
    }.get(end.reason, end.reason)


def show(answer: Answer) -> look.RenderableType:
    """One screen."""
    return look.Group(
        _headline(answer), *_warnings(answer), look.Text(), _figures(answer), *_findings(answer)
    )


def show_heading(answer: Answer) -> look.RenderableType:
    """What ran, and whether the recording is whole."""
    return look.Group(_headline(answer), *_warnings(answer))


def _headline(answer: Answer) -> look.Text:
    line = look.Text(answer["command"] or answer["program"], style="bold")
    line.append(
        f"   process {answer['process_id']}, {units.duration(answer['duration_ns'])}, "
        f"{units.counted(answer['threads'], 'thread')}, "
        f"{answer['allocator'] or 'allocator unknown'}, "
        f"{answer['end']['text']}",
        style="not bold",
    )
    return line


def _warnings(answer: Answer) -> list[look.Text]:
    lines = []
    completeness = answer["completeness"]
    if completeness["is_complete"]:
        style = "green" if completeness["covers_whole_run"] else "yellow"
        lines.append(look.Text(coverage.sentence(completeness, _which_calls(answer)), style=style))
    else:
        reasons = "; ".join(completeness["reasons"]) or "reason unknown"
        lines.append(look.Text(f"INCOMPLETE RECORDING: {reasons}", style="bold red"))
        if not completeness["covers_whole_run"]:
            lines.append(look.Text(coverage.sentence(completeness, _which_calls(answer)), style="yellow"))
    if not completeness["covers_whole_run"]:
        lines.append(look.Text(coverage.consequence(completeness), style="yellow"))
    if answer["is_filtered"]:
        lines.append(look.Text("filtered: the figures are about the chosen part only", style="yellow"))
    if answer["sample_mean_bytes"]:
        mean = units.size(answer["sample_mean_bytes"])
        lines.append(
            look.Text(
                f"sampled, one in {mean} allocated: counts and bytes are estimates with their 95 % intervals",
                style="yellow",
            )
        )
    lines += [look.Text(note, style="yellow") for note in answer["notes"]]
    lines += [look.Text(line, style="yellow") for line in about_processes(answer)]
    return lines


def about_processes(answer: Answer) -> list[str]:
    """What this process started and what of it was not recorded."""
    lines = []
    if answer["is_fork_child"]:
        lines.append(f"forked from process {answer['parent_process_id']}: blocks from before are inherited")
    groups = Counter((process["program"], process["reason"]) for process in answer["unrecorded_processes"])
    for (program, reason), number in groups.most_common(_UNRECORDED):
        was = "was" if number == 1 else "were"
        name = f"{program}: " if program else ""
        lines.append(f"{units.counted(number, 'process', 'processes')} {was} not recorded: {name}{reason}")
    rest = sum(groups.values()) - sum(number for _, number in groups.most_common(_UNRECORDED))
    if rest:
        lines.append(f"{units.counted(rest, 'other process', 'other processes')} not recorded either")
    alone = answer["children_left_alone"]
    if alone:
        lines.append(
            f"{units.counted(alone, 'child process', 'child processes')} started without the recorder"
            " (--children records them)"
        )
    return lines


def _which_calls(answer: Answer) -> str:
    calls = "every sampled call" if answer["sample_mean_bytes"] else "every call"
    return f"{calls} but what is named below" if answer["notes"] else calls


def _figures(answer: Answer) -> look.Pairs:
    if answer["sample_mean_bytes"]:
        sampled = estimates.figures(answer, coverage.when(answer["live_at"]))
        if odd := _oddities(answer["totals"]):
            sampled.append(("seen as well", look.Text(", ".join(odd))))
        return look.Pairs(sampled, style="bold")
    totals, peak = answer["totals"], answer["peak"]
    rows: list[tuple[str, look.Text]] = []

    def row(name: str, text: str) -> None:
        rows.append((name, look.Text(text)))

    at = units.percent(peak["time_ns"], max(answer["duration_ns"], peak["time_ns"]))
    row(
        "peak",
        f"{units.size(peak['live_bytes'])} in {units.counted(peak['live_blocks'], 'block')} "
        f"({units.size(peak['live_usable_bytes'])} usable), "
        f"at {units.duration(peak['time_ns'])} ({at} of the time)",
    )
    live_blocks = units.counted(answer["live_at_end_blocks"], "block")
    row(
        f"live {coverage.when(answer['live_at'])}",
        f"{units.size(answer['live_at_end_bytes'])} in {live_blocks}",
    )
    row(
        "calls",
        f"{units.counted(totals['allocations'], 'allocation')} of {units.size(totals['requested_bytes'])}, "
        f"{units.counted(totals['releases'], 'free')}, {units.counted(totals['reallocs'], 'realloc')}, "
        f"{units.counted(answer['temporaries'], 'temporary', 'temporaries')} "
        f"({units.percent(answer['temporaries'], max(totals['allocations'], answer['temporaries']))})",
    )
    row("allocator", _allocator(answer))
    odd = _oddities(totals)
    if odd:
        row("seen as well", ", ".join(odd))
    return look.Pairs(rows, style="bold")


def _allocator(answer: Answer) -> str:
    if not answer["durations_recorded"]:
        return "times were not recorded (--no-durations)"
    text = (
        f"{units.duration(answer['totals']['allocator_ns'])}, "
        f"{units.percent(answer['allocator_share'], 1)} of the threads' time"
    )
    for name, key in (("allocate", "allocation_latency"), ("free", "release_latency")):
        latency = answer[key]
        if latency["calls"]:
            text += (
                f"; {name} p50 {units.duration(latency['p50_ns'])}, p99 {units.duration(latency['p99_ns'])}"
            )
            text += f", max {units.duration(latency['max_ns'])}"
    return text


def _oddities(totals: Answer) -> list[str]:
    wording = (
        ("failed", "failed allocation", "failed allocations"),
        ("zero_size", "allocation of 0 bytes", "allocations of 0 bytes"),
        ("null_frees", "free of NULL", "frees of NULL"),
        (
            "inherited_releases",
            "free of an inherited block (from before the fork)",
            "frees of inherited blocks (from before the fork)",
        ),
        ("unknown_releases", "free of a block not in the trace", "frees of blocks not in the trace"),
        (
            "releases_from_before",
            "free of a block from before the window (or from a pause)",
            "frees of blocks from before the window (or from a pause)",
        ),
        (
            "releases_in_pauses",
            "block freed while recording was paused",
            "blocks freed while recording was paused",
        ),
        (
            "reused_live_addresses",
            "address handed out twice (a free was missed)",
            "addresses handed out twice (a free was missed)",
        ),
        ("size_mismatches", "sized free with the wrong size", "sized frees with the wrong size"),
    )
    odd = [units.counted(totals[key], one, many) for key, one, many in wording if totals[key]]
    if totals["mapped_bytes"]:
        odd.append(f"{units.size(totals['mapped_bytes'])} mapped by the program itself")
    return odd


def _findings(answer: Answer) -> list[look.RenderableType]:
    if not answer["findings"]:
        return []
    rows = []
    for finding in answer["findings"]:
        line = look.Text(finding["text"])
        line.append(f"   [{finding['question']}]", style="dim")
        rows.append(("  •", line))
    return [look.Text(), look.Text("What stands out", style="bold"), look.Pairs(rows, gap=1)]
