# SPDX-License-Identifier: MIT
"""What a process holds at the later of two moments and did not before: heapwright.compare-moments/1."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from heapwright.compare.matching import Key, keys_of
from heapwright.compare.recorded import known_of
from heapwright.model import Facts, Filter, Location, Trace, runtimes
from heapwright.model.names import short_name
from heapwright.report.columns import Column, Many, Record, record

SCHEMA = "heapwright.compare-moments/1"
_TWO_SIDED_95 = 1.96
# Growth of anonymous memory beyond that of live bytes; less is not told of.
_LEAST_OUTSIDE = 1 << 20


class Change(NamedTuple):
    """Bytes at both moments; error: half of the 95 % interval of the difference, 0 for whole recordings."""

    location: Location
    a: int
    b: int
    made: int  # in between, released since or not
    error: int

    @property
    def difference(self) -> int:
        """B minus A."""
        return self.b - self.a

    @property
    def is_sure(self) -> bool:
        """Whether it is not 0."""
        return bool(self.difference) and abs(self.difference) > self.error


class Moments(NamedTuple):
    """a, b: the traces, b the later. sites: the largest sure growth first; total: of all sites."""

    a: Trace
    b: Trace
    total: Change
    sites: tuple[Change, ...]
    unsure: int

    @property
    def span_ns(self) -> int:
        """From one moment to the other."""
        return self.b.end.time_ns - self.a.end.time_ns


class _Side(NamedTuple):
    live: int
    variance: float


def between(a: Trace, b: Trace) -> Moments:
    """Reads B twice; A only where B has forgotten what was before. Linear in the events.

    B has A's moment whole, A lacks its last second or two. Samples from before are the same in both states,
    and cancel: what differs was made or released in between.
    """
    at_ns = a.end.time_ns
    knows_between = b.metadata.forgotten_before_ns <= at_ns
    earlier = b if knows_between else a
    keys = keys_of([[known_of(earlier)], [known_of(b)]])
    own, other = keys[0][0], keys[1][0]
    numbers = {key: number for number, key in enumerate(dict.fromkeys([*own, *other]))}
    places: dict[Key, Location] = {}
    for of_trace, trace in ((own, earlier), (other, b)):
        places |= {key: site.location for key, site in zip(of_trace, trace.sites(), strict=True)}
    first = _facts(earlier, own, numbers, Filter(to_ns=at_ns))
    then = _facts(b, other, numbers, Filter(from_ns=at_ns))
    changes = [_change(places[key], first, then, number, knows_between) for key, number in numbers.items()]
    sure = sorted((one for one in changes if one.is_sure), key=lambda one: -one.difference)
    unsure = sum(1 for one in changes if one.difference and not one.is_sure)
    total = Change(
        Location("", "", 0, False, ""),
        sum(one.a for one in changes),
        sum(one.b for one in changes),
        sum(one.made for one in changes),
        math.ceil(math.sqrt(sum(one.error**2 for one in changes))),
    )
    return Moments(a, b, total, tuple(sure), unsure)


def _facts(trace: Trace, keys: Sequence[Key], numbers: Mapping[Key, int], chosen: Filter) -> Facts:
    sites = trace.sites()
    groups = array("I", [numbers[keys[site]] for site in sites.site_of_stack])
    return trace.begin_facts(chosen, groups=groups, timeline_points=2, slowest_calls=1).take()


def _change(location: Location, first: Facts, then: Facts, number: int, knows_between: bool) -> Change:
    a, b = (_side(facts, number) for facts in (first, then))
    made = then.sites[number].bytes if number < len(then.sites) else 0
    variance = a.variance + b.variance
    if knows_between and then.spreads is not None and number < len(then.sites):
        # As much was released in between as was made and is not more now.
        released = max(0, made - (b.live - a.live))
        of_made = then.spreads.site_calls[number].bytes.variance
        of_a_byte = max(of_made / made if made else 0.0, a.variance / a.live if a.live else 0.0)
        variance = min(variance, of_made + released * of_a_byte)
    return Change(location, a.live, b.live, made, math.ceil(_TWO_SIDED_95 * math.sqrt(max(0.0, variance))))


def _side(facts: Facts, number: int) -> _Side:
    if number >= len(facts.sites):
        return _Side(0, 0.0)
    spreads = facts.spreads
    variance = spreads.site_live[number].end_bytes.variance if spreads else 0.0
    return _Side(facts.sites[number].live_at_end_bytes, variance)


_CHANGE = (
    Column("a_bytes", value="a", about="Live at A's moment."),
    Column("b_bytes", value="b"),
    Column("difference_bytes", "signed", value="difference", about="B minus A."),
    Column("low_bytes", "signed", value=lambda one, _: one.difference - one.error, about="95 % interval."),
    Column("high_bytes", "signed", value=lambda one, _: one.difference + one.error),
    Column(
        "growth_bytes_per_s",
        "signed",
        value=lambda one, around: round(one.difference / around["span_ns"] * 1e9, 1),
    ),
    Column("made_bytes", value="made", about="Allocated in between, released or not."),
)
SITE = (
    *_CHANGE,
    Column("name", "text", value=lambda one, _: short_name(one.location.function)),
    Column("function", "text", value="location.function"),
    Column("file", "text", value="location.file"),
    Column("line", value="location.line"),
    Column("library", "text", value="location.library"),
)
_MOMENT = (
    Column("file", "text"),
    Column("time_ns", about="After the process's start."),
    Column("anonymous_bytes", "maybe_signed", about="By the kernel, swapped or not; null: not known."),
)
DOCUMENT = (
    Column("program", "text"),
    Column("process"),
    Column("span_ns", about="From A's moment to B's."),
    Column("sample_mean_bytes", about="0: every call was recorded."),
    Column("a", _MOMENT),
    Column("b", _MOMENT),
    Column("total", _CHANGE, about="Live bytes of all sites."),
    Column("sites", Many(SITE), about="Those that surely differ, the largest growth first."),
    Column("unsure_sites", about="Those that differ by no more than chance."),
    Column(
        "outside_bytes",
        "maybe_signed",
        about="What anonymous memory grew by beyond live bytes; 0: less than 1 MiB; null: not known.",
    ),
    Column("outside_hint", "text", about="What shows it, by the program's runtime; empty: not known."),
    Column("notes", Many("text")),
)


def make(moments: Moments, notes: list[str]) -> Record:
    """Everything that compare prints of two moments."""
    a, b = moments.a, moments.b
    metadata = b.metadata
    around = {"span_ns": max(1, moments.span_ns)}
    outside = _outside(moments)
    conditions = metadata.condition_values
    return {
        "schema": SCHEMA,
        "program": metadata.program,
        "process": metadata.process_id,
        "span_ns": moments.span_ns,
        "sample_mean_bytes": metadata.sample_mean_bytes,
        "a": _moment(a),
        "b": _moment(b),
        "total": record(_CHANGE, moments.total, around),
        "sites": [record(SITE, one, around) for one in moments.sites],
        "unsure_sites": moments.unsure,
        "outside_bytes": outside,
        "outside_hint": runtimes.advice(conditions.get("runtime", ""), conditions) if outside else "",
        "notes": notes,
    }


def _moment(trace: Trace) -> Record:
    return {"file": trace.path, "time_ns": trace.end.time_ns, "anonymous_bytes": _anonymous(trace)}


def _anonymous(trace: Trace) -> int | None:
    if not trace.memory_samples:
        return None
    last = trace.memory_samples[-1]
    return last.resident_anonymous_bytes + last.swapped_bytes


def _outside(moments: Moments) -> int | None:
    """Unless blocks that lived at A may have been used for the first time since."""
    first, then = _anonymous(moments.a), _anonymous(moments.b)
    if first is None or then is None:
        return None
    untouched = max(0, moments.total.a - first)
    outside = then - first - max(0, moments.total.difference) - untouched
    return outside if outside >= _LEAST_OUTSIDE and 2 * outside >= then - first else 0
