# SPDX-License-Identifier: MIT
"""Sums of all slow calls by common properties: each call is in one group, under one cause."""

# Annotations are values here: compiling them from text for each NamedTuple field takes half the import time.

from collections.abc import Callable, Hashable, Iterable
from types import SimpleNamespace
from typing import Any, NamedTuple

from heapwright.explain.report import Answer, Report, share
from heapwright.explain.slow_causes import CAUSES
from heapwright.explain.tables import sites
from heapwright.model import Site
from heapwright.model.facts.causes import SlowCalls
from heapwright.report import units
from heapwright.report.columns import WORD, Column, Many, Table

# SlowCalls::no_size_class.
_NO_SIZE_CLASS = 65
_SHOWN = 2


class Part(NamedTuple):
    """The calls of a group with one cause."""

    cause: int
    calls: int
    duration_ns: int
    descheduled_ns: int


class Group(NamedTuple):
    """causes: most time first; they add up to the group."""

    key: Any
    calls: int
    duration_ns: int
    descheduled_ns: int
    causes: tuple[Part, ...]


def groups(rows: Iterable[SlowCalls], key: Callable[[SlowCalls], Hashable]) -> list[Group]:
    """Most time first; together they cover all the rows."""
    sums: dict[Any, dict[int, Part]] = {}
    for row in rows:
        parts = sums.setdefault(key(row), {})
        so_far = parts.get(row.cause, Part(row.cause, 0, 0, 0))
        parts[row.cause] = Part(
            row.cause,
            so_far.calls + row.calls,
            so_far.duration_ns + row.duration_ns,
            so_far.descheduled_ns + row.descheduled_ns,
        )
    found = [_group(of, parts.values()) for of, parts in sums.items()]
    return sorted(found, key=lambda group: (-group.duration_ns, -group.calls, group.key))


def _group(key: Any, parts: Iterable[Part]) -> Group:
    ordered = tuple(sorted(parts, key=lambda part: (-part.duration_ns, part.cause)))
    return Group(
        key,
        sum(part.calls for part in ordered),
        sum(part.duration_ns for part in ordered),
        sum(part.descheduled_ns for part in ordered),
        ordered,
    )


def _in_words(group: dict[str, Any], _: dict[str, Any]) -> str:
    """The causes with most of the group's time."""
    if len(group["causes"]) == 1:
        return str(group["causes"][0]["cause"])
    said = [
        f"{part['cause']} {units.percent(share(part['duration_ns'], group['duration_ns']))}"
        for part in group["causes"][:_SHOWN]
    ]
    return ", ".join([*said, "…"] if len(group["causes"]) > _SHOWN else said)


def _off_in_words(row: dict[str, Any], answer: dict[str, Any]) -> str:
    return units.duration(row["descheduled_ns"]) if answer["kernel_events"] == "recorded" else "–"


DESCHEDULED = Column(
    "descheduled_ns",
    "ns",
    "off cpu",
    text=_off_in_words,
    about="The part of duration_ns off the CPU: not the allocator's. 0 if kernel_events is not "
    '"recorded": then it is not known.',
)
SUMS = (
    Column("duration_ns", "ns", "time"),
    DESCHEDULED,
    Column("calls", "count", "calls"),
)
CAUSES_OF_GROUP = (
    Column(
        "causes",
        Many((Column("cause", "word"), *SUMS)),
        value=lambda group, _: [{**part._asdict(), "cause": CAUSES[part.cause]} for part in group.causes],
        about="Most time first; they add up to the row.",
    ),
    Column("", "word", "causes", text=_in_words),
)


def _by_size(report: Report) -> list[Any]:
    """All slow calls, smallest blocks first, calls without a block last."""
    found = groups(report.facts.slow_calls, lambda row: row.size_class)
    return [
        SimpleNamespace(
            **group._asdict(),
            is_of_block=group.key != _NO_SIZE_CLASS,
            from_bytes=1 << group.key - 1 if 0 < group.key < _NO_SIZE_CLASS else 0,
            to_bytes=(1 << group.key) - 1 if group.key < _NO_SIZE_CLASS else 0,
        )
        for group in sorted(found, key=lambda group: group.key)
    ]


def _by_site(report: Report) -> list[tuple[Site, Group]]:
    """For a free, the site is where the block was allocated."""
    found = groups(report.facts.slow_calls, lambda row: row.site)
    return [(report.sites[group.key], group) for group in found[: report.top]]


def _further_sites(report: Report, _: Answer) -> Answer:
    """The sum of calls not in by_site."""
    rest = groups(report.facts.slow_calls, lambda row: row.site)[report.top :]
    fields = ("calls", "duration_ns", "descheduled_ns")
    return {"sites": len(rest), **{name: sum(getattr(group, name) for group in rest) for name in fields}}


def _size_text(row: Answer, _: Answer) -> str:
    if not row["is_of_block"]:
        return "no known block"
    return f"{units.size(row['from_bytes'])} – {units.size(row['to_bytes'])}"


BY_SIZE = Table(
    "by_size",
    (
        *SUMS,
        Column("", WORD, "size", text=_size_text),
        Column("from_bytes", "bytes"),
        Column("to_bytes", "bytes"),
        Column("is_of_block", "flag", about="false: no known block, from_bytes and to_bytes are 0."),
        *CAUSES_OF_GROUP,
    ),
    _by_size,
    about="The same calls by the size of their block.",
    title="By size of the block",
)
BY_SITE = sites(
    *SUMS,
    *CAUSES_OF_GROUP,
    rows=_by_site,
    key="by_site",
    about="The same calls by site, most time first; for a free, where the block was allocated.",
    title="By call site; for a free, where the block was allocated",
)
FURTHER_SITES = Column(
    "further_sites",
    (Column("sites"), Column("calls"), Column("duration_ns", "ns"), Column("descheduled_ns", "ns")),
    value=_further_sites,
    about="The calls not in by_site; together they are all slow calls.",
)
