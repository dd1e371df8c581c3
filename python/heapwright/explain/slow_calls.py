# SPDX-License-Identifier: MIT
"""Which calls were slow, and why?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from heapwright.explain import slow_causes, slow_sums
from heapwright.explain.question import A_SAMPLED_CALL_IS_SLOW, Question
from heapwright.explain.report import CPU_NS, Answer, Finding, Report, share
from heapwright.explain.slow_causes import CAUSES
from heapwright.explain.slow_stacks import STACK_COLUMNS, stacks_of
from heapwright.explain.tables import sites
from heapwright.model import KIND_NAMES, Site
from heapwright.model.facts.causes import KernelSums
from heapwright.report import units
from heapwright.report.columns import WORD, Column, Table, fields_of

# As in analyze/causes.hpp; shorter calls get no cause.
SLOW_FROM_NS = 20_000
_NOTICED_NS = 1_000_000
_WORTH_SHARE = 0.05
_SAID_OFF_NS = 1_000_000
_NAMED = 1.0  # a cause with its remedy ranks above every finding that only describes
# Off the CPU, so not caused by the allocator.
_NOT_THE_ALLOCATOR = CAUSES[slow_causes.PREEMPTED]


def _rows(report: Report) -> Iterator[tuple[Site, Any]]:
    """Longest first; of a free without a stack, the site is where the block was allocated."""
    names = {thread.index: thread.name for thread in report.trace.threads}
    for call in report.facts.slowest[: report.top]:
        if call.duration_ns > 0:
            site = report.sites[report.sites.site_of_stack[call.stack]]
            stacks = stacks_of(report, call)._asdict()
            yield site, SimpleNamespace(**call._asdict(), **stacks, thread_name=names.get(call.thread, ""))


def _word(field: str) -> Callable[[Any, Answer], str]:
    """A cause in words; short calls have none."""

    def word(call: Any, _: Answer) -> str:
        cause = getattr(call, field) if call.duration_ns >= SLOW_FROM_NS else slow_causes.UNEXPLAINED
        return CAUSES[cause]

    return word


def _why(call: Answer, _: Answer) -> str:
    """The cause with its figure."""
    if call["duration_ns"] < SLOW_FROM_NS:
        return "below 20 µs"
    figures = {
        slow_causes.PAGE_FAULTS: lambda: units.count(call["faults"]),
        slow_causes.PREEMPTED: lambda: units.duration(call["preempted_ns"]),
        slow_causes.WAITING: lambda: units.duration(call["waited_ns"]),
        slow_causes.CONSOLIDATION: lambda: f"{units.count(call['small_frees'])} frees",
    }
    number = CAUSES.index(call["cause"])
    return f"{call['cause']} ({figures[number]()})" if number in figures else str(call["cause"])


def _by_cause(report: Report) -> list[slow_sums.Group]:
    """By function and cause; most time first, all slow calls."""
    return slow_sums.groups(report.facts.slow_calls, lambda row: (row.kind, row.cause))


def _sum(field: str) -> Any:
    return lambda report, _: sum(getattr(row, field) for row in report.facts.slow_calls)


def _own_ns(row: Answer) -> int:
    """Without preemption, which is not the allocator's; waits count: that of a lock is."""
    if row["cause"] == CAUSES[slow_causes.WAITING]:
        return int(row["duration_ns"])
    return int(row["duration_ns"] - row["descheduled_ns"])


def _split(answer: Answer) -> str:
    """How the time of the slow calls is divided, in one sentence; other load does not change it."""
    times: dict[str, int] = {}
    for row in answer["causes"]:
        times[row["cause"]] = times.get(row["cause"], 0) + _own_ns(row)
    over = f"{units.counted(answer['calls_over'], 'call')} of 20 µs or more"
    if set(times) == {CAUSES[slow_causes.UNKNOWN]}:
        return f"{over} took {units.duration(answer['duration_ns'])}; the cause is not known"
    off = sum(row["calls"] for row in answer["causes"] if row["cause"] == _NOT_THE_ALLOCATOR)
    off_ns = sum(row["duration_ns"] - _own_ns(row) for row in answer["causes"])
    most = sorted((time, cause) for cause, time in times.items() if cause != _NOT_THE_ALLOCATOR)[:-4:-1]
    if not most:
        return f"{over} took {units.duration(answer['duration_ns'])}: all preempted, not the allocator"
    said = ", ".join(f"{units.duration(time)} {cause}" for time, cause in most)
    text = f"{said} in {over}"
    if off_ns >= _SAID_OFF_NS:
        text += f"; {units.duration(off_ns)} off the CPU besides"
    if off:
        text += f"; {off:,} {'was' if off == 1 else 'were'} slow only by preemption: not the allocator"
    return text


def _title(answer: Answer) -> str:
    if not answer["calls_over"]:
        return "Slowest calls: none took 20 µs"
    return f"Slowest calls: {_split(answer)}"


def _notes(answer: Answer) -> list[str]:
    lines = [f"{one['name']}: {one['evidence']}. Remedy: {one['remedy']}" for one in answer["patterns"]]
    rest = answer["further_sites"]
    if rest["sites"]:
        lines.append(
            f"{units.counted(rest['sites'], 'further site')}: {units.duration(rest['duration_ns'])} in "
            f"{units.counted(rest['calls'], 'slow call')}"
        )
    if answer["kernel_events"] != "recorded":
        lines.append(
            f"page faults and waits within calls are not known: {answer['kernel_events']}; times include "
            "time off the CPU"
        )
        return lines
    kernel = answer["kernel"]
    lines.append(
        f"within all heap calls: {'at least ' if kernel['incomplete_calls'] else ''}"
        f"{units.counted(kernel['faults'], 'page fault')} "
        f"({units.duration(kernel['fault_ns'])}), {units.duration(kernel['waited_ns'])} waiting"
        f"{_in_scans(kernel)}, "
        f"{units.duration(kernel['preempted_ns'])} preempted; waiting and preemption are not time in "
        "the allocator"
    )
    lost, incomplete = answer["kernel_events_lost"], kernel["incomplete_calls"]
    if lost or incomplete:
        dropped = (
            f"the kernel dropped at least {units.counted(lost, 'record')}" if lost else "a ring was full"
        )
        lines.append(
            f"{dropped}: those of {units.counted(incomplete, 'call')} may be incomplete; "
            f"{units.duration(kernel['doubtful_ns'])} of these may be waits, and do not count as time in "
            "the allocator"
        )
    return lines


def _in_scans(kernel: Answer) -> str:
    waited_ns = kernel["waited_in_scans_ns"]
    if not waited_ns:
        return ""
    return f" ({units.duration(waited_ns)} of it while the recorder scanned pages, perhaps because of that)"


def _findings(answer: Answer) -> list[Finding]:
    """Patterns with a name, or a call long enough for a person to notice."""
    time_ns = max(answer["cpu_ns"] or answer["thread_time_ns"], 1)
    found = [
        Finding(_NAMED + share(one["duration_ns"], time_ns), f"{one['name']}: {one['evidence']}")
        for one in answer["patterns"]
        if one["longest_ns"] >= _NOTICED_NS or one["duration_ns"] >= _WORTH_SHARE * time_ns
    ]
    if found:
        return found
    own_ns = sum(_own_ns(row) for row in answer["causes"] if row["cause"] != _NOT_THE_ALLOCATOR)
    theirs = [call for call in answer["calls"] if call["cause"] != _NOT_THE_ALLOCATOR]
    longest = max(theirs, key=_felt_ns, default=None)
    if longest is not None and _felt_ns(longest) >= max(_NOTICED_NS, own_ns / 2):
        return [_of_one(longest, answer)]
    part = share(own_ns, time_ns)
    if own_ns >= _NOTICED_NS and part >= _WORTH_SHARE:
        return [Finding(min(0.8, part), f"slow calls: {_split(answer)}")]
    return []


def _of_one(call: Answer, answer: Answer) -> Finding:
    text = (
        f"one {call['kind']} of {units.size(call['size_bytes'])} took "
        f"{units.duration(_felt_ns(call))} in {call['name']}"
    )
    if call["cause"] != CAUSES[slow_causes.UNKNOWN]:
        text += f": {_why(call, answer)}"
    return Finding(min(0.5, _felt_ns(call) / 1e8), text)


def _felt_ns(call: Answer) -> int:
    """The call's time without preemption."""
    return max(0, int(call["duration_ns"] - call["preempted_ns"]))


# Shown as notes.
_PATTERN = (
    Column("name", "text"),
    Column("duration_ns", "ns"),
    Column("longest_ns", "ns"),
    Column("evidence", "text"),
    Column("remedy", "text"),
)


def _gist(answer: Answer) -> str:
    if not answer["calls_over"]:
        return "no call took 20 µs" if answer["causes"] or answer["calls"] else ""
    return _split(answer)


QUESTION = Question(
    "slow_calls",
    "Slowest calls",
    (
        Column(
            "kernel_events",
            "text",
            value=lambda report, _: slow_causes.kernel_events(report),
            about='"recorded", or why page faults and waits are not known.',
        ),
        Column(
            "kernel_events_lost",
            value=lambda report, _: slow_causes.lost_records(report),
            about="Records that the kernel reported as dropped, of all processes of the session.",
        ),
        Column("slow_from_ns", "ns", value=lambda *_: SLOW_FROM_NS, about="Shorter calls have no cause."),
        Column(
            "calls_over",
            value=_sum("calls"),
            about="Calls of at least slow_from_ns; the causes add up to it, and to duration_ns.",
        ),
        Column("duration_ns", "ns", value=_sum("duration_ns")),
        slow_sums.DESCHEDULED._replace(value=_sum("descheduled_ns")),
        slow_sums.FURTHER_SITES,
        CPU_NS,
        Column("thread_time_ns", "ns", about="Wall time, with sleep and waiting."),
        Column("kernel", fields_of(KernelSums), value="facts.kernel", about="Within all calls."),
    ),
    tables=(
        Table(
            "causes",
            (
                Column("duration_ns", "ns", "time"),
                Column("share", "share", "share", lambda row, of: share(row.duration_ns, of["duration_ns"])),
                *slow_sums.SUMS[1:],
                Column("function", "word", "function", lambda row, _: KIND_NAMES[row.key[0]]),
                Column("cause", "word", "cause", lambda row, _: CAUSES[row.key[1]]),
                Column("evidence", "word", "", lambda row, _: slow_causes.evidence_of(row.key[1])),
            ),
            _by_cause,
            about="What took most of each slow call, by function; observed, inferred or not known.",
        ),
        slow_sums.BY_SIZE,
        slow_sums.BY_SITE,
        Table(
            "patterns",
            _PATTERN,
            slow_causes.patterns,
            about="Causes that have a name.",
            title="Known patterns among them",
        ),
        sites(
            Column("duration_ns", "ns", "time"),
            Column("kind", "word", "call", lambda call, _: KIND_NAMES[call.kind]),
            Column("size_bytes", "bytes", "size"),
            Column("begin_ns", "ns", "at"),
            Column("cause", "word", value=_word("cause")),
            Column("work", "word", value=_word("work"), about="What it did on the CPU."),
            Column("", WORD, "why", text=_why),
            *(Column(name) for name in ("faults", "mappings", "small_frees")),
            *(Column(name, "ns") for name in ("fault_ns", "waited_ns", "preempted_ns")),
            Column("mapped_bytes", "bytes"),
            Column("thread_name", "text"),
            Column("thread"),
            Column("stack"),
            *STACK_COLUMNS,
            rows=_rows,
            key="calls",
            title="The slowest, one by one",
        ),
    ),
    title_of=_title,
    notes=_notes,
    findings=_findings,
    unsampled=A_SAMPLED_CALL_IS_SLOW,
    gist=_gist,
)
