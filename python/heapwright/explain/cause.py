# SPDX-License-Identifier: MIT
# length: one question, most of it its columns
"""Why is so much memory resident, and what would help?"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import NamedTuple

from heapwright.explain import leak_signs, page_faults, replayed, residency, tables
from heapwright.explain.advice import private_heap
from heapwright.explain.cause_evidence import evidence_of
from heapwright.explain.cause_kinds import EARLIER, NAMES, OTHERS, Kinds, kinds_at, raises_in_force
from heapwright.explain.cause_words import (
    WORTH_BYTES,
    WORTH_SHARE,
    evidence_in_words,
    findings,
    notes,
    remedies_in_words,
    sentence,
    title,
)
from heapwright.explain.idle_memory import BRIEF_SHARE, lasted_ns, soon_ns, taken_again_bytes
from heapwright.explain.joint_pins import JointPins, joint_pins
from heapwright.explain.question import Question
from heapwright.explain.ranking import ranked
from heapwright.explain.remedies import remedies
from heapwright.explain.remedy import HELPS, KINDS, Case, Remedy
from heapwright.explain.report import Answer, Report
from heapwright.explain.separation import SEPARATES, Separation, separations
from heapwright.explain.settings import thread_cache_bytes
from heapwright.explain.site_names import selector, site_name
from heapwright.explain.tables import sites
from heapwright.model.facts import HeapPart, PartHolder, PinAge, ThresholdRaise
from heapwright.model.readings import reading_at
from heapwright.model.sites import Site
from heapwright.report import units, widgets
from heapwright.report.columns import TEXT, WORD, Choice, Column, Many, Table

# Memory outside the heap of more than half of the total is named from this size on.
_WORTH_OTHERS_BYTES = 32 << 20
_PAGE_BYTES = 4096
_MOST_TRIMS, _TRIM_NS = 4, 1_000_000_000

# OTHERS in a fork child, to which its parent's heap is unknown.
_INHERITED = "not the heap, or inherited at the fork"
_FROM_BEFORE = "not the heap, or from before"

# The number of sites, those that pin most, whose ages are shown.
_AGED_SITES = 3

_VERDICTS = ("fragmented", "elsewhere", "rounding", "nothing", "unknown")


class _Source(NamedTuple):
    report: Report
    kinds: Kinds | None  # at the scan with the most that is free
    last: Kinds | None
    number: int  # of the scan
    sites: list[tuple[Site, Separation]]
    largest_owner: str  # outside the heap
    recorder_bytes: int
    lasted_ns: int
    taken_again_bytes: int
    unknown_because: str
    verdict: str
    joint: JointPins | None = None
    leaks: frozenset[int] = frozenset()


def _source(report: Report) -> _Source:
    found = residency.source_of(report)
    if found.shown is None:
        why = "the recording has no scan of resident memory"
        return _Source(report, None, None, 0, [], "", 0, 0, 0, why, "unknown")
    facts = report.facts
    kinds = kinds_at(report, found.number)
    last = next((index for index, of in enumerate(facts.residency) if of.is_last), found.number)
    lasted = lasted_ns(report, kinds, found.number)
    again = taken_again_bytes(report, kinds)
    verdict, why = _verdict_and_why(report, kinds, lasted, again)
    return _Source(
        report,
        kinds,
        kinds_at(report, last),
        found.number,
        separations(report, kinds, found.number),
        residency.largest_in_words(found),
        residency.recorder_bytes(found),
        lasted,
        again,
        why,
        verdict,
        joint_pins(report, kinds, found.number),
        frozenset(leak_signs.likely(report)),
    )


def _verdict_and_why(report: Report, kinds: Kinds, lasted: int, again: int) -> tuple[str, str]:
    """The verdict, and why it is unknown; that nothing is to be fixed, only where nothing is unseen."""
    why = _why_unknown(report)
    verdict = "unknown" if why else _verdict(report, kinds, lasted, again)
    unseen = report.trace.metadata.unseen
    return ("unknown", unseen[0]) if verdict == "nothing" and unseen else (verdict, why)


def _unseen(report: Report) -> str:
    """The note on libraries whose calls to the recorded heap are not seen.

    An allocator inside a library keeps its memory outside that heap, whose sums are right.
    """
    return next((line for line in report.trace.metadata.unseen if "RTLD_DEEPBIND" in line), "")


def _why_unknown(report: Report) -> str:
    unseen = _unseen(report)
    if unseen:
        return unseen
    if report.facts.completeness.dropped or report.facts.completeness.sequence_gaps:
        return "calls are missing from the recording, so blocks are"
    if not report.has_unseen_blocks:
        return ""
    if report.trace.metadata.is_attached:
        return "blocks from before the recording are not known"
    return "blocks from before the fork, or from unrecorded times, are not known"


def _verdict(report: Report, kinds: Kinds, lasted: int, again: int) -> str:
    resident = kinds.moment.resident_bytes
    is_brief = lasted < BRIEF_SHARE * report.trace.end.time_ns
    # A block that changed while its pages were scanned leaves pages without an owner.
    surely = kinds.free_bytes - again - kinds.moment.ambiguous_bytes
    is_worth = surely >= max(WORTH_BYTES, WORTH_SHARE * resident) and not is_brief
    if is_worth or private_heap.is_sure(report):
        return "fragmented"
    if kinds.bytes_of["rounding"] >= max(WORTH_BYTES, WORTH_SHARE * resident):
        return "rounding"
    if kinds.bytes_of[OTHERS] >= max(_WORTH_OTHERS_BYTES, resident // 2):
        return "elsewhere"
    return "nothing"


def keeps_free_memory(report: Report) -> bool:
    """True if free memory is the problem to fix, often with a setting."""
    return _source(report).verdict == "fragmented"


def joint_of(report: Report) -> JointPins | None:
    """The sites that pin free memory together; None: no group does."""
    return _source(report).joint


def _cause(source: _Source, _: Answer) -> str:
    """The kind with most bytes among those in the verdict; "" if it names none."""
    if source.kinds is None:
        return ""
    causes = {"fragmented": source.kinds.largest, "rounding": "rounding", "elsewhere": OTHERS}
    return causes.get(source.verdict, "")


class _KindRow(NamedTuple):
    kind: str
    name: str
    bytes: int
    at_end_bytes: int
    evidence: str


def _kinds(source: _Source) -> Iterable[_KindRow]:
    kinds, last = source.kinds, source.last
    if kinds is None or last is None:
        return []
    evidence = evidence_of(kinds, raises_in_force(source.report), source.largest_owner)
    names = dict(NAMES)
    if not source.report.has_unseen_blocks:
        del names[EARLIER]
    elif source.report.trace.metadata.is_fork_child:
        names[OTHERS] = _INHERITED
    else:
        names[OTHERS] = _FROM_BEFORE
    rows = [
        _KindRow(kind, name, kinds.bytes_of[kind], last.bytes_of[kind], evidence[kind])
        for kind, name in names.items()
    ]
    return sorted(rows, key=lambda row: -row.bytes)


class _PartRow(NamedTuple):
    kind: str
    part: HeapPart


def _parts(source: _Source) -> list[_PartRow]:
    names = source.report.facts.resident_names
    parts = source.kinds.parts[: source.report.top] if source.kinds is not None else ()
    return [_PartRow(names[part.kind], part) for part in parts]


def _raises(source: _Source) -> list[tuple[Site, ThresholdRaise]]:
    raises = raises_in_force(source.report)
    return [(source.report.sites[one.site], one) for one in raises[-source.report.top :]]


def _holders(source: _Source) -> list[tuple[Site, PartHolder]]:
    if source.kinds is None or not source.kinds.parts:
        return []
    facts = source.report.facts
    first = facts.heap_parts.index(source.kinds.parts[0])
    rows: list[tuple[Site, PartHolder]] = []
    for holder in facts.part_holders:
        # Further sites add nothing if all is free without the previous ones.
        if holder.part == first and (not rows or holder.free_bytes > rows[-1][1].free_bytes):
            rows.append((source.report.sites[holder.site], holder))
    return rows


def _ages(source: _Source) -> list[tuple[Site, PinAge]]:
    """Site by site as in the table above, youngest first."""
    shown = [site for site, of in source.sites if of.pinned_bytes][:_AGED_SITES]
    ages = [age for age in source.report.facts.pin_ages if age.scan == source.number]
    return [(site, age) for site in shown for age in ages if age.site == site.number]


def _remedies(source: _Source) -> list[Remedy]:
    if source.kinds is None or source.verdict != "fragmented":
        return []
    facts, raises = source.report.facts, raises_in_force(source.report)
    peak_bytes, large = facts.peak.live_usable_bytes, facts.large_heap_blocks
    fault_ns = page_faults.cost_each_ns(source.report)
    large_ns = int(large.bytes / _PAGE_BYTES * fault_ns)
    case = Case(
        source.kinds,
        raises,
        source.sites,
        peak_bytes,
        large.calls,
        large_ns,
        fault_ns,
        source.joint,
        _trim_every_ms(source),
        _move_change(source),
        source.kinds.idle_bytes(source.taken_again_bytes),
    )
    found = [_judged(source.report, one) for one in remedies(case)]
    return ranked(found, source.kinds.largest, _is_leak(source, {}))


def remedies_of(report: Report) -> list[Remedy]:
    """The ranked list; empty where free memory is not the problem to fix."""
    return _remedies(_source(report))


def _trim_every_ms(source: _Source) -> int:
    """Up to four calls until the reading that shows the scan's memory, none more often than each second. The
    last one is right before that reading: a replay calls malloc_trim there."""
    at_ns = max(0, _reading_ns(source))
    return at_ns // 1_000_000 // max(1, min(_MOST_TRIMS, at_ns // _TRIM_NS))


def _reading_ns(source: _Source) -> int:
    """When the memory was read that is the scan's; -1 without a reading."""
    if source.kinds is None:
        return -1
    samples = source.report.trace.memory_samples
    times_ns = [sample.time_ns for sample in samples]
    resident = [sample.resident_anonymous_bytes for sample in samples]
    points = source.report.facts.timeline

    def calls(begin_ns: float, end_ns: float) -> int:
        return sum(one.allocations + one.releases for one in points if begin_ns < one.time_ns <= end_ns)

    reading = reading_at(times_ns, resident, source.kinds.moment.time_ns, calls)
    return times_ns[reading] if reading >= 0 else -1


def read_at_ns(report: Report) -> int:
    """When the memory was read by which a replay judges remedies for what stays resident; -1: none stays."""
    return _reading_ns(_source(report)) if remedies_of(report) else -1


def _move_change(source: _Source) -> str:
    if source.report.facts.spreads is not None or not source.sites:
        return ""
    sites = [source.report.sites[of] for of in source.joint.sites] if source.joint else [source.sites[0][0]]
    return f"{private_heap.RULE.change}@{','.join(dict.fromkeys(map(selector, sites)))}"


def _judged(report: Report, remedy: Remedy) -> Remedy:
    """With what a replay measured of it: memory at the scan, where that was asked for. Less time alone is no
    less memory."""
    figures = report.replayed.get(remedy.replay_change or remedy.what, ())
    at_scan = replayed.at_scan(replayed.records(figures))
    asked = [one for one in at_scan if one["unit"] == "bytes" or one["verdict"] != "better"]
    judged = replayed.judgement(asked, 0, remedy.bytes or 0, report.base_ns)
    return remedy._replace(replayed=figures, judged=judged)


def _joint_sites(source: _Source, _: Answer) -> list[str]:
    if source.joint is None:
        return []
    return [site_name(source.report.sites[number]) for number in source.joint.sites]


def _is_leak(source: _Source, _: Answer) -> bool:
    """Of the group, or else of the first site."""
    if source.joint is not None:
        return source.leaks.issuperset(source.joint.sites)
    return bool(source.sites) and source.sites[0][0].number in source.leaks


def _thread_caches(source: _Source, _: Answer) -> int:
    kinds = source.kinds
    if kinds is None or kinds.allocator.family != "glibc":
        return -1
    now = kinds.moment.time_ns
    threads = sum(
        thread.first_ns <= now and (thread.exit_ns == 0 or thread.exit_ns > now)
        for thread in source.report.trace.threads
    )
    return min(kinds.free_bytes, threads * thread_cache_bytes(kinds.allocator.settings))


def _from(name: str, field: str, unit: str = "bytes") -> Column:
    """A figure of the scan with the most free memory."""
    get = attrgetter(field)
    return Column(name, unit, value=lambda of, _: get(of.kinds) if of.kinds is not None else 0)


_KIND_COLUMNS = (
    Column("bytes", "bytes", "bytes"),
    Column("at_end_bytes", "bytes", "at the end"),
    Column("kind", Choice(tuple(NAMES))),
    Column("name", "text"),
    Column("evidence", "text"),
    Column("", TEXT, "what is resident", text=lambda row, _: row["name"]),
)
REMEDY_COLUMNS = (
    Column("bytes", "bytes", about="Upper bound of the returned memory; null: not known."),
    Column(
        "least_bytes",
        "bytes",
        about="Returned memory if one heap for all stayed as large as its peak, approximate; 0: not known.",
    ),
    Column("helps", Choice(HELPS)),
    Column("kind", Choice(KINDS)),
    Column("what", "text"),
    Column("why", "text"),
    Column("replay_set", "text", about="Argument of replay --set that tries it; empty: none."),
    Column("replay_change", "text", about="Argument of replay --change that tries it; empty: none."),
    Column(
        "rank",
        "count",
        about="From 1 on, best first: what returns most at an acceptable cost. 0: no help, or refuted.",
    ),
    Column("returns_bytes", "bytes", about="As measured by a replay at the scan, or else the bound."),
    Column(
        "replayed",
        Many(replayed.COLUMNS),
        value=lambda remedy, _: replayed.records(remedy.replayed),
        about="What a replay measured, if one was given (--replayed) or made (--check).",
    ),
    Column(
        "again_ns",
        "ns",
        about="CPU time of the page faults if all that it returns is used once again; 0: none, or not known.",
    ),
    Column(
        "run_ns",
        "ns",
        about="CPU time that it would have cost in this run, at most; 0: none, or not known.",
    ),
    Column(
        "judged",
        Choice(replayed.JUDGEMENTS),
        about="Whether that confirms the gain, refutes it, or the gain is only a bound.",
    ),
)


def _age(at_least_ns: int) -> str:
    """A class of ages.

    >>> _age(0), _age(10_000_000_000)
    ('below 1 ms', '10.0 s to 100 s')
    """
    if not at_least_ns:
        return "below 1 ms"
    return f"{units.duration(at_least_ns)} to {units.duration(10 * at_least_ns)}"


def _show(answer: Answer) -> widgets.RenderableType | None:
    """The kinds with their evidence, what helps, and who holds the pages, with figures."""
    there = {**answer, "kinds": [row for row in answer["kinds"] if row["bytes"] or row["at_end_bytes"]]}
    tabled = {table.key: tables.shown(table, there, False) for table in QUESTION.tables}
    drawn = {"kinds": tabled["kinds"], "evidence": evidence_in_words(answer), **tabled}
    drawn["remedies"] = remedies_in_words(answer)
    if all(row["kind"] != "threshold" for row in there["kinds"]):
        del drawn["raises"]
    found = [part for part in drawn.values() if part is not None]
    found = [part for one in found for part in (one, widgets.Text())][:-1]
    return widgets.Group(*found, *(widgets.Text(line, style="dim") for line in notes(answer)))


QUESTION = Question(
    "cause",
    "Why it is resident",
    (
        Column("unknown_because", "text", about="Why the verdict is unknown; may be empty."),
        Column(
            "has_unseen_calls",
            "flag",
            value=lambda of, _: bool(_unseen(of.report)),
            about="A library was opened with RTLD_DEEPBIND: its blocks in this heap are in no sum.",
        ),
        Column(
            "allocator", "text", value=lambda of, _: of.kinds.allocator.name if of.kinds is not None else ""
        ),
        _from("time_ns", "moment.time_ns", "ns"),
        Column("lasted_ns", "ns", about="For how long at least half as much was free, approximate."),
        Column(
            "taken_again_bytes",
            "bytes",
            about="The part of free_bytes that blocks need again within soon_ns; approximate.",
        ),
        Column("soon_ns", "ns", value=lambda of, _: soon_ns(of.report)),
        _from("resident_bytes", "moment.resident_bytes"),
        Column(
            "recorder_bytes",
            "bytes",
            value=lambda of, _: of.recorder_bytes,
            about="The part of resident_bytes that is the recorder's own: there is none without recording.",
        ),
        _from("huge_bytes", "moment.huge_bytes"),
        _from("free_bytes", "free_bytes"),
        _from("ambiguous_bytes", "moment.ambiguous_bytes")._replace(
            about="Of blocks that changed during the scan: as much of the free memory may be theirs."
        ),
        _from("trimmable_bytes", "trimmable_bytes"),
        Column(
            "thread_caches_at_most_bytes",
            "integer",
            value=_thread_caches,
            about="The part of free_bytes in the C library's thread caches: an upper bound; -1: another "
            "allocator, not known.",
        ),
        Column("verdict", Choice(_VERDICTS)),
        Column(
            "joint_bytes",
            "bytes",
            value=lambda of, _: of.joint.pinned_bytes if of.joint is not None else 0,
            about="Free on pages with blocks of the joint_sites only, far more than one of them pins alone; "
            "0: no such group of a few functions.",
        ),
        Column("joint_sites", Many("text"), value=_joint_sites),
        Column(
            "is_leak",
            "flag",
            value=_is_leak,
            about="The sites that pin most show signs of a leak: freeing the blocks returns what they pin.",
        ),
        Column("cause", "text", value=_cause, about="The kind with most bytes, or empty."),
        Column(
            "holding_sites",
            value=lambda of, _: (
                len(of.kinds.holding.holders) if of.kinds is not None and of.kinds.holding else 0
            ),
            about="How many of the holders have the few blocks of the kind top.",
        ),
    ),
    (
        Table("kinds", _KIND_COLUMNS, _kinds, about="All resident memory, by what keeps it."),
        Table(
            "remedies",
            REMEDY_COLUMNS,
            _remedies,
            about="Remedies that would help here, and those that would not.",
        ),
        sites(
            Column("pinned_bytes", "bytes", "free beside"),
            Column("held_bytes", "bytes", "free below"),
            Column("blocks", "count", "blocks"),
            Column("usable_bytes", "bytes"),
            Column(
                "aligned_bytes",
                "bytes",
                about="The alignment of all its blocks, from 64 B on; 0: less.",
            ),
            Column("pages"),
            Column("own_peak_bytes", "bytes"),
            Column(
                "never_freed",
                "share",
                "survive",
                about="Its blocks at the scan as a share of all that it made; -1: not known.",
            ),
            Column("mean_age_ns", "ns", "mean age"),
            Column("mean_life_ns", "ns", "mean life", about="Of freed blocks."),
            Column("saves_least_bytes", "bytes", "returns at least"),
            Column("saves_most_bytes", "bytes", "at most"),
            Column("separates", Choice(SEPARATES)),
            Column("", WORD, "private heap helps", text=lambda row, _: row["separates"]),
            rows=lambda source: source.sites,
            about="Sites that pin or hold pages, and what a private heap would release.",
            title="Sites whose blocks keep free memory resident, and what a private heap would return",
        ),
        sites(
            Column("pinned_bytes", "bytes", "free beside"),
            Column("pages", "count", "pages"),
            Column("blocks", "count", "blocks"),
            Column(
                "at_least_ns",
                "ns",
                about="A power of ten from 1 ms on, or 0: at least this old, but less than ten times.",
            ),
            Column("", WORD, "age", text=lambda row, _: _age(row["at_least_ns"])),
            rows=_ages,
            key="ages",
            about="Ages of the first sites' pages and blocks: a page is as old as its oldest block.",
            title="How old the blocks on these pages are",
        ),
        sites(
            Column("free_bytes", "bytes", "would be free"),
            Column("blocks", "count", "blocks"),
            rows=_holders,
            key="holders",
            about="In the part with most free memory: the free memory that would lie above the last block "
            "without the blocks of this site and those before it.",
            title="What would be free at the end of the fullest part, without these sites and those above",
        ),
        Table(
            "parts",
            (
                *(
                    Column(name, "bytes", label, f"part.{name}")
                    for name, label in (
                        ("resident_bytes", "resident"),
                        ("used_bytes", "used"),
                        ("partly_free_bytes", "beside blocks"),
                        ("free_page_bytes", "free pages"),
                        ("above_last_bytes", "above the last"),
                        ("large_free_bytes", "by large blocks"),
                        ("allocator_bytes", ""),
                    )
                ),
                Column("blocks", "count", "blocks", "part.blocks"),
                Column("address", value="part.address"),
                Column("kind", "text"),
                Column("", TEXT, "part", text=lambda row, _: row["kind"]),
            ),
            _parts,
            about="The parts of the heap: the main heap, arenas, separately mapped blocks.",
            title="Parts of the heap, and the free memory in each",
        ),
        sites(
            Column("time_ns", "ns", "at"),
            Column("bytes", "bytes", "threshold"),
            rows=_raises,
            key="raises",
            about="Frees that raised the C library's mmap threshold; the site had allocated the block.",
            title="Frees that raised the size from which blocks are mapped alone, and whose block it was",
        ),
    ),
    prepare=_source,
    findings=findings,
    title_of=title,
    show=_show,
    gist=sentence,
    unsampled="knowing which pages hold blocks takes every block",
)
