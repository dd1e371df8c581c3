# SPDX-License-Identifier: MIT
"""Who holds the resident memory?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from heapwright.explain.question import Question
from heapwright.explain.report import Answer, Report
from heapwright.explain.residency_at import asked_moment
from heapwright.explain.tables import sites
from heapwright.explain.telling_scan import free_bytes, telling_scan
from heapwright.model.facts import PinSite, Residency
from heapwright.model.sites import Site
from heapwright.report import units
from heapwright.report.columns import TEXT, WORD, Column, Table

_PAGE_BYTES = 4096
_OWN = "own mapping"
_STACK = "thread stack"
# This share of the free memory makes one site its holder.
_MOST = 0.5


class Source(NamedTuple):
    """shown: the requested moment, or the scan with the most free memory; number: its or the nearest scan."""

    report: Report
    moments: tuple[Residency, ...]
    shown: Residency | None
    number: int
    is_between: bool  # two scans: interpolated


def source_of(report: Report) -> Source:
    """The moment shown, and all moments listed."""
    moments = report.facts.residency
    asked = asked_moment(report)
    if asked is not None:
        shown, number, is_between = asked
        listed = tuple(sorted((*moments, shown), key=lambda of: of.time_ns)) if is_between else moments
        return Source(report, listed, shown, number, is_between)
    number = telling_scan(report)
    return Source(report, moments, moments[number] if number >= 0 else None, number, False)


def _is(what: str) -> Column:
    return Column(f"is_{what}", "flag", value=lambda row, _: bool(getattr(row, f"is_{what}")))


def _reason(row: Answer, _: Answer) -> str:
    words = {
        "is_largest": "most resident",
        "is_at_live_peak": "most live",
        "is_most_free": "most free",
        "is_most_free_before_last": "" if row["is_most_free"] else "most free before the last",
        "is_last": "last",
        "is_before_asked": "before",
        "is_after_asked": "after",
    }
    return ", ".join(word for key, word in words.items() if word and row[key]) or "requested, interpolated"


def _moments(source: Source) -> Iterable[Residency]:
    return source.moments


def owners_of(source: Source) -> list[tuple[str, str, int, int]]:
    """Kind, name, anonymous bytes and file bytes of the largest holders outside the heap.

    The stacks of several threads are one row: individually, thousands of small ones would not be seen.
    """
    facts = source.report.facts
    rows: list[tuple[str, str, int, int]] = []
    stacks: list[tuple[str, str, int, int]] = []
    for owner in facts.resident_owners:
        if owner.scan == source.number:
            kind, name = facts.resident_names[owner.kind], facts.resident_names[owner.name]
            if kind == _OWN or (kind == "shared memory" and not name):
                name = source.report.sites[owner.site].location.function
            of = stacks if kind == _STACK and name else rows
            if kind == _STACK and not name:
                name = "of threads without a heap call, or ended"
            of.append((kind, name, owner.anonymous_bytes, owner.file_bytes))
    if stacks:
        rows.append(_together(stacks))
        rows.sort(key=lambda row: -row[2] - row[3])
    return rows[: source.report.top]


def recorder_bytes(source: Source) -> int:
    """What the recorder itself keeps resident in the program: its library, lanes and tables."""
    facts = source.report.facts
    return sum(
        owner.anonymous_bytes + owner.file_bytes
        for owner in facts.resident_owners
        if owner.scan == source.number and facts.resident_names[owner.kind] == "recorder"
    )


def largest_in_words(source: Source) -> str:
    """The largest holder outside the heap, counting the program's own mappings as one; "" without any."""
    facts = source.report.facts
    rows = owners_of(source)
    own = [
        owner.anonymous_bytes + owner.file_bytes
        for owner in facts.resident_owners
        if owner.scan == source.number and facts.resident_names[owner.kind] == _OWN
    ]
    first = next((row for row in rows if row[0] == _OWN), None)
    if first is None or len(own) == 1 or sum(own) < rows[0][2] + rows[0][3]:
        return owner_in_words(*rows[0][:2]) if rows else ""
    return f"{units.size(sum(own))} mapped by the program itself, most by {first[1]}"


def owner_in_words(kind: str, name: str) -> str:
    """Whose memory it is: a name that is not a path is that of its creator."""
    of = "of " if kind in (_OWN, "shared memory") and name and "/" not in name else ""
    return f"{kind} {of}{name}".rstrip()


def _together(stacks: list[tuple[str, str, int, int]]) -> tuple[str, str, int, int]:
    name = stacks[0][1]
    if len(stacks) > 1:
        name = f"of {len(stacks)} threads, most {name} ({units.size(stacks[0][2])})"
    return _STACK, name, sum(stack[2] for stack in stacks), sum(stack[3] for stack in stacks)


def _pins(source: Source) -> list[tuple[Site, PinSite]]:
    pins = [
        pin
        for pin in source.report.facts.pins
        if pin.scan == source.number and max(pin.pinned_bytes, pin.held_bytes) >= _PAGE_BYTES
    ]
    return [(source.report.sites[pin.site], pin) for pin in pins[: source.report.top]]


def _of_shown(field: str) -> Any:
    return lambda source, _: getattr(source.shown, field) if source.shown is not None else 0


def _holder(answer: Answer) -> str:
    """The site that keeps most of the free memory; "" if none does."""
    free = answer["free_bytes"]
    for site in answer["sites"][:1]:
        held = max(site["pinned_bytes"], site["held_bytes"])
        if held >= _MOST * free:
            return (
                f", {units.size(min(held, free))} of it held by {units.counted(site['blocks'], 'block')}"
                f" from {site['name']}"
            )
    return ""


def _sentence(answer: Answer) -> str:
    live = answer["live_bytes"] - answer["untouched_bytes"]
    most = "at most " if answer["has_unseen_blocks"] else ""
    free = f"{most}{units.size(answer['free_bytes'])} are free"
    return (
        f"{units.size(answer['resident_bytes'])} resident, {units.size(live)} live: {free}{_holder(answer)}"
    )


def _title(answer: Answer) -> str:
    if not answer["moments"]:
        return "Resident memory: the recording has no scan of it"
    return f"Resident memory at {units.duration(answer['time_ns'])}: {_sentence(answer)}"


def _notes(answer: Answer) -> list[str]:
    if not answer["moments"]:
        return []
    lines = [
        "live + rounding + free in used pages + free pages + allocator + others = resident, page by page; "
        f"live excludes untouched memory; the heap is that of {answer['allocator']}"
    ]
    if answer["has_unseen_blocks"]:
        lines.append(
            "blocks from before a fork or from unrecorded times are not known: "
            "they count as free, or as the allocator's"
        )
    if answer["is_interpolated"]:
        lines.append("between two scans: interpolated; the tables below are from the nearest scan")
    kernel = (answer["kernel_before_bytes"], answer["kernel_after_bytes"])
    counted = " and ".join(dict.fromkeys(units.size(of) for of in kernel))
    agrees = answer["resident_bytes"] in kernel and not answer["is_interpolated"]
    lines.append(
        f"the kernel counted {counted}{', the same to the page' if agrees else ' around the scan'}; "
        f"{units.size(answer['ambiguous_bytes'])} of blocks changed while their page was scanned"
    )
    return lines


_MOMENT = (
    Column("", WORD, "when", text=_reason),
    Column("time_ns", "ns", "at"),
    Column("duration_ns", "ns"),
    _is("largest"),
    _is("at_live_peak"),
    _is("most_free"),
    _is("most_free_before_last"),
    _is("last"),
    _is("before_asked"),
    _is("after_asked"),
    Column(
        "is_whole",
        "flag",
        value=lambda row, _: bool(row.is_whole),
        about="False: the scan has more runs of pages than a trace can store.",
    ),
    Column("resident_bytes", "bytes", "resident", about="Sum of the pages, and of all the figures below."),
    Column("kernel_before_bytes", "bytes", about="RssAnon + RssFile + RssShmem before the scan."),
    Column("kernel_after_bytes", "bytes"),
    Column("swapped_bytes", "bytes"),
    Column("huge_bytes", "bytes"),
    Column("live_blocks"),
    Column("live_bytes", "bytes", about="Requested, of all live blocks."),
    Column("untouched_bytes", "bytes", about="The part of live_bytes that is not resident."),
    Column("live_resident_bytes", "bytes", "live", lambda row, _: row.live_bytes - row.untouched_bytes),
    Column("rounding_bytes", "bytes", "rounding", about="Usable minus requested."),
    Column("partly_free_bytes", "bytes", "free in used pages"),
    Column(
        "free_page_bytes", "bytes", "free pages", about="Without a live block, but with one at another time."
    ),
    Column("allocator_bytes", "bytes", "allocator", about="Other pages of mappings that hold blocks."),
    Column("other_bytes", "bytes", "others", about="Of programs, libraries, stacks, own mappings, files."),
    Column("ambiguous_bytes", "bytes", about="Of blocks whose call overlaps the scan of their page."),
)


def _gist(answer: Answer) -> str:
    return f"at {units.duration(answer['time_ns'])}, {_sentence(answer)}" if answer["moments"] else ""


QUESTION = Question(
    "residency",
    "Resident memory",
    (
        Column(
            "time_ns",
            "ns",
            value=_of_shown("time_ns"),
            about="The requested time, or that of the scan with the most free memory.",
        ),
        Column("is_interpolated", "flag", value="is_between"),
        Column("allocator", "text", value=lambda of, _: of.report.allocator.name),
        *(
            Column(name, "bytes", value=_of_shown(name))
            for name in (
                "resident_bytes",
                "kernel_before_bytes",
                "kernel_after_bytes",
                "live_bytes",
                "untouched_bytes",
                "ambiguous_bytes",
            )
        ),
        Column(
            "free_bytes", "bytes", value=lambda of, _: free_bytes(of.shown) if of.shown is not None else 0
        ),
        Column(
            "has_unseen_blocks",
            "flag",
            value=lambda of, _: of.report.has_unseen_blocks,
            about="Blocks from before a fork or from unrecorded times exist: free_bytes is an upper bound.",
        ),
    ),
    (
        Table("moments", _MOMENT, _moments, about="Scans: most resident, most live, last."),
        sites(
            Column("pinned_bytes", "bytes", "free beside"),
            Column("held_bytes", "bytes", "free below the top"),
            Column("blocks", "count", "blocks"),
            Column("live_bytes", "bytes", "live"),
            Column("pages", "count", "pages of its own"),
            rows=_pins,
            about="pinned: free on pages that hold only blocks of this site. held: resident in the C "
            "library's heap between the last block of any other site and the top, minus this site's blocks.",
            title="Sites beside or below whose blocks memory is free",
        ),
        Table(
            "owners",
            (
                Column("anonymous_bytes", "bytes", "other memory", lambda row, _: row[2]),
                Column("file_bytes", "bytes", "of files", lambda row, _: row[3]),
                Column("kind", "text", "", lambda row, _: row[0]),
                Column("name", "text", "", lambda row, _: row[1]),
                Column("", TEXT, "of", text=lambda row, _: f"{row['kind']} {row['name']}".strip()),
            ),
            owners_of,
            title="Resident memory that is not the heap",
        ),
    ),
    prepare=source_of,
    title_of=_title,
    notes=_notes,
    unsampled="knowing which pages hold blocks takes every block",
    gist=_gist,
)
