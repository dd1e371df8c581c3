# SPDX-License-Identifier: MIT
"""What does it cost that memory is given back to the kernel and taken again?"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from heapwright.explain.question import Question
from heapwright.explain.report import CPU_NS, Answer, Finding, Report, share
from heapwright.explain.site_names import site_name
from heapwright.explain.slow_causes import kernel_events
from heapwright.explain.tables import sites
from heapwright.model import Site
from heapwright.report import units
from heapwright.report.columns import WORD, Column

# By number, as analyze::GivenBackBy.
GIVEN_BACK_BY = ("the heap", "the end of a mapping", "the program", "malloc_trim")
HEAP, MAPPED_BLOCK, PROGRAM, TRIM = range(len(GIVEN_BACK_BY))
_NOTICED_SHARE = 0.02  # of the CPU time
_NOTICED_NS = 1_000_000
# The kernel's work for a page beyond the fault itself: entering it, and giving the page back before.
_MOST_BESIDE = 2.0
_ENTRY_NS = 300


def cost_each_ns(report: Report) -> float:
    """CPU time in the kernel per page fault, with its share of giving pages back; 0 = not known.

    System time by the number of faults: an upper bound, as other system calls are in it. Where the kernel's
    records give the time of faults alone, it is at most about twice that.
    """
    processor = report.facts.processor
    faults = processor.minor_faults + processor.major_faults
    if not faults:
        return 0.0
    each = processor.system_ns / faults
    if processor.seen_faults:
        seen = processor.seen_fault_ns / processor.seen_faults
        each = min(each, _MOST_BESIDE * seen + _ENTRY_NS) if each else seen
    return each


def again_ns(report: Report) -> int:
    """Bound of the CPU time that pages cost which the heap gave back and took again."""
    processor = report.facts.processor
    bound = processor.heap_refaults * cost_each_ns(report)
    return int(min(bound, report.cpu_ns or bound))


def outside_calls_ns(report: Report) -> int:
    """The part of again_ns outside of heap calls."""
    return max(0, again_ns(report) - report.facts.kernel.fault_ns)


def not_seen(report: Report) -> str:
    """Why the kernel's records do not tell what page faults cost; "" = they do."""
    if report.facts.spreads is not None:
        return "samples do not have every block"
    state = kernel_events(report)
    if state != "recorded":
        return state
    processor = report.facts.processor
    if not processor.is_known:
        return "not in traces of this old version"
    unseen = processor.minor_faults - processor.seen_faults
    unseen_ns = unseen * cost_each_ns(report)
    if unseen_ns >= max(_NOTICED_NS, _NOTICED_SHARE * report.base_ns):
        return (
            f"{units.count(unseen)} of {units.count(processor.minor_faults)} have no record: they were in "
            "system calls, or records were lost"
        )
    return ""


PROCESSOR = (
    Column(
        "not_seen",
        "text",
        value=lambda report, _: not_seen(report),
        about='Why single page faults could not be seen, or not enough of them; "" = they were.',
    ),
    Column(
        "minor_faults", value="facts.processor.minor_faults", about="By the kernel's count; 0 = not known."
    ),
    Column("major_faults", value="facts.processor.major_faults"),
    Column("system_ns", "ns", value="facts.processor.system_ns", about="CPU time in the kernel, all of it."),
    Column("seen_faults", value="facts.processor.seen_faults", about="With a record of the kernel."),
    Column("seen_fault_ns", "ns", value="facts.processor.seen_fault_ns"),
    Column(
        "again", value="facts.processor.refaults", about="Of seen_faults, on a page that had faulted before."
    ),
    Column(
        "again_of_heap",
        value="facts.processor.heap_refaults",
        about="Of these, on a page whose block had been freed in between.",
    ),
    Column("cost_each_ns", "ns", value=lambda report, _: int(cost_each_ns(report))),
    Column(
        "again_of_heap_ns",
        "ns",
        value=lambda report, _: again_ns(report),
        about="CPU time that again_of_heap cost, at most: cost_each_ns each.",
    ),
    CPU_NS,
)


def in_words(answer: Answer) -> str:
    """One line for the first screen."""
    text = units.count(answer["minor_faults"])
    if answer["not_seen"]:
        return f"{text}; which memory they were on could not be seen: {answer['not_seen']}"
    if not answer["again_of_heap"]:
        return f"{text}, none on memory that had been given back"
    part = units.percent(share(answer["again_of_heap"], answer["minor_faults"]))
    took = units.duration(answer["again_of_heap_ns"])
    text += f", {part} on memory that had been given back: {took}"
    if answer["cpu_ns"]:
        text += f", {units.percent(share(answer['again_of_heap_ns'], answer['cpu_ns']))} of CPU time"
    return text


def rows_of(report: Report) -> list[tuple[Site, Any]]:
    """By the site that took pages again and the one that freed them: most faults first."""
    found: dict[tuple[int, int, int], SimpleNamespace] = {}
    of_stack, each = report.sites.site_of_stack, cost_each_ns(report)
    for row in report.facts.refault_sites:
        key = of_stack[row.stack], of_stack[row.free_stack], row.given_back_by
        sums = found.setdefault(
            key,
            SimpleNamespace(
                site=key[0], free_site=key[1] if row.free_stack else -1, freed_site=of_stack[row.freed_stack],
                given_back_by=row.given_back_by, faults=0, times=0,
            ),
        )  # fmt: skip
        sums.faults += row.faults
        sums.times += row.times
    for sums in found.values():
        sums.time_ns = int(sums.faults * each)
    ordered = sorted(found.values(), key=lambda sums: (-sums.faults, sums.site, sums.free_site))
    return [(report.sites[sums.site], sums) for sums in ordered[: report.top]]


def freed_in_words(report: Report, row: Any) -> str:
    """Who gave the pages back."""
    if row.free_site >= 0:
        return site_name(report.sites[row.free_site])
    return f"a free of a block from {site_name(report.sites[row.freed_site])}"


class _Source:
    def __init__(self, report: Report) -> None:
        self.report = report
        self.facts = report.facts
        self.cpu_ns = report.cpu_ns
        self.base_ns = report.base_ns
        self.trace = report.trace
        self.rows = []
        for site, row in rows_of(report):
            row.freed_by = freed_in_words(report, row)
            row.taken_by = site_name(site)
            self.rows.append((site, row))


def _findings(answer: Answer) -> list[Finding]:
    part = share(answer["again_of_heap_ns"], answer["cpu_ns"])
    if (
        answer["not_seen"]
        or not answer["sites"]
        or part < _NOTICED_SHARE
        or answer["again_of_heap_ns"] < _NOTICED_NS
    ):
        return []
    faults = f"{units.count(answer['again_of_heap'])} of {units.count(answer['minor_faults'])} page faults"
    took = f"{units.duration(answer['again_of_heap_ns'])}, {units.percent(part)} of CPU time"
    text = f"{faults} took memory that had been given back: {took}; {_in_words(answer['sites'][0])}"
    return [Finding(min(1.0, 0.3 + part), text)]


def _in_words(row: Answer) -> str:
    each = max(1, row["faults"] // max(1, row["times"]))
    by = {
        GIVEN_BACK_BY[HEAP]: "the heap gives back",
        GIVEN_BACK_BY[MAPPED_BLOCK]: "a block's mapping ends",
        GIVEN_BACK_BY[TRIM]: "malloc_trim gives back",
    }
    who = by.get(row["given_back_by"], "the program gives back")
    return (
        f"{units.count(row['times'])} times {units.counted(each, 'page')}: {who} in {row['freed_by']}, "
        f"{row['taken_by']} takes {'it' if each == 1 else 'them'} again"
    )


def _title(answer: Answer) -> str:
    if answer["not_seen"]:
        return f"Memory given back and taken again: could not be seen ({answer['not_seen']})"
    if not answer["again_of_heap"]:
        return "Memory given back and taken again: none"
    return (
        f"Memory given back and taken again: {units.count(answer['again_of_heap'])} of "
        f"{units.counted(answer['minor_faults'], 'page fault')}, {units.duration(answer['again_of_heap_ns'])}"
    )


def _gist(answer: Answer) -> str:
    return in_words(answer) if answer["minor_faults"] else ""


QUESTION = Question(
    "page_faults",
    "Memory given back and taken again",
    PROCESSOR,
    (
        sites(
            Column("faults", "count", "faults"),
            Column("share", "share", "share", lambda row, of: share(row.faults, of["again_of_heap"])),
            Column("times", "count", "times", about="Runs of consecutive pages."),
            Column("time_ns", "ns", "time", about="At most: cost_each_ns for each fault."),
            Column("given_back_by", "word", "by", lambda row, _: GIVEN_BACK_BY[row.given_back_by]),
            Column(
                "freed_by", WORD, "given back in", about="The free before it, or the block that it freed."
            ),
            Column("taken_by", "text", about="The site in short."),
            rows=lambda source: source.rows,
            about="By the site whose block took the pages again, and the free before: most faults first.",
        ),
    ),
    prepare=_Source,
    title_of=_title,
    if_nothing="No page fault is known to have taken memory that had been given back.",
    findings=_findings,
    unsampled="samples do not have every block",
    gist=_gist,
)
