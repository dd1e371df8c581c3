# SPDX-License-Identifier: MIT
"""Which sites grow over time, how fast, and is it a leak?"""

from __future__ import annotations

import math

from heapwright.explain import leak_signs, pool_names
from heapwright.explain.growing_sites import NO_SIGN, Growth
from heapwright.explain.growth_kinds import CREEP, GROWING, KINDS, LEAK, SAWTOOTH, UNKNOWN, WARM_UP
from heapwright.explain.question import Question
from heapwright.explain.report import Answer, Finding
from heapwright.explain.tables import sites
from heapwright.report import units
from heapwright.report.columns import Choice, Column

_NOT_KNOWN = -1
_NONE = "–"
_FINDINGS = 3
_OUTSIDE = 2
WEIGHT = 1.1  # before findings that are only large
WEIGHT_UNKNOWN = 0.8
# Growth worth a line on the first screen, the former of the peak.
_LEAST_TOLD, _LEAST_TOLD_BYTES = 0.02, 64 << 10


def _time_left_ns(answer: Answer, slope_bytes_per_s: float) -> int:
    """Time until the process reaches its limit; -1 if there is no limit or no growth."""
    if not answer["limit_bytes"] or slope_bytes_per_s <= 0:
        return _NOT_KNOWN
    return int(max(0, answer["limit_bytes"] - answer["used_bytes"]) / slope_bytes_per_s * 1e9)


def _from_to(begin: str, end: str, unit: str) -> Column:
    def text(row: Answer, _: Answer) -> str:
        first, last = units.number(row[begin], unit), units.number(row[end], unit)
        return first if first == last else f"{first} → {last}"

    return Column("", "word", {"bytes": "live", "count": "blocks"}[unit], text=text)


def _sizes(row: Answer, _: Answer) -> str:
    first, last = units.size(round(row["mean_usable_at_begin"])), units.size(round(row["mean_usable_at_end"]))
    return first if first == last else f"{first} → {last}"


def _slope(row: Answer, _: Answer) -> str:
    slope, wide = row["slope_bytes_per_s"], row["half_width_bytes_per_s"]
    if not row["is_sure"]:
        return _NONE
    return units.rate(slope) if wide == _NOT_KNOWN else f"{units.rate(slope)} ±{units.rate(wide)}"


def _to_limit(row: Answer, answer: Answer) -> str:
    return _NONE if row["to_limit_ns"] == _NOT_KNOWN else units.duration(row["to_limit_ns"])


def _findings(answer: Answer) -> list[Finding]:
    """Findings about certain growth, the fastest first; the question leaks reports sites with signs of a
    leak."""
    told = [row for row in answer["sites"] if _is_told(row, answer)]
    found = [
        (
            row["slope_bytes_per_s"],
            Finding(WEIGHT_UNKNOWN if _is_doubted(row) else WEIGHT, _sentence(row, answer)),
        )
        for row in told
    ]
    found += [
        (row["slope_bytes_per_s"], Finding(WEIGHT, outside_in_words(row, answer)))
        for row in answer["outside"][:_OUTSIDE]
    ]
    found.sort(key=lambda one: -one[0])
    return [finding for _, finding in found[:_FINDINGS]]


def _is_doubted(row: Answer) -> bool:
    return bool(row["kind"] == UNKNOWN or (row["kind"] == CREEP and row["reason"]))


def outside_in_words(row: Answer, answer: Answer) -> str:
    """Growth that no heap call shows, and how to see its call sites."""
    since = f" since {units.duration(row['since_ns'])}" if row["since_ns"] else ""
    text = (
        f"resident memory outside malloc grows by {units.rate(row['slope_bytes_per_s'])}{since}, to "
        f"{units.size(row['end_bytes'])} mapped by {row['name']}"
    )
    left = _to_limit(row, answer)
    text += f"; the limit is reached in {left}" if left != _NONE else ""
    if row["again"]:
        return f"{text}: run it again with {row['again']}, and each object is a call with its own site"
    return f"{text}; {pool_names.skipping(row['skip'])} names its callers" if row["skip"] else text


def fastest_outside(answer: Answer) -> str:
    """The growth outside malloc, if it is faster than that of all sites; "" otherwise."""
    rates = [row["slope_bytes_per_s"] for row in answer.get("outside", ())]
    of_sites = answer["growth_bytes_per_s"] - sum(rates) if rates else 0.0
    if not rates or sum(rates) <= of_sites:
        return ""
    first = answer["outside"][0]
    return f"it grows by {units.rate(sum(rates))} outside malloc, most by {first['name']}"


def _is_told(row: Answer, answer: Answer) -> bool:
    grown = row["bytes_at_end"] - row["bytes_at_begin"]
    return (
        row["kind"] in (LEAK, GROWING, CREEP, UNKNOWN)
        and row["is_sure"]
        and row["slope_bytes_per_s"] > 0
        and not row["leak_sign"]
        and grown >= max(_LEAST_TOLD * answer["peak_bytes"], _LEAST_TOLD_BYTES)
    )


def _sentence(row: Answer, answer: Answer) -> str:
    since = f" since {units.duration(row['since_ns'])}" if row["since_ns"] else ""
    growth = f"{row['name']} grows by {units.rate(row['slope_bytes_per_s'])}{since}"
    blocks = units.counted(row["blocks_at_end"], "block")
    left = _to_limit(row, answer)
    ends = f"; the limit is reached in {left}" if left != _NONE else ""
    if row["kind"] == CREEP:
        return (
            f"{growth} in {blocks}, a steady number, of mean size {_sizes(row, answer)}: capacity creep"
            f"{', ' if row['reason'] else ''}{row['reason']}{ends}"
        )
    is_more = row["blocks_at_end"] > row["blocks_at_begin"]  # not a buffer that is replaced by a larger one
    only = "a leak, or data that only grows" if is_more else "data that only grows"
    what = only if row["kind"] == LEAK else row["reason"]
    hint = pool_names.hint(row["function"])
    return f"{growth}, to {units.size(row['bytes_at_end'])} in {blocks}: {what}{ends}{hint}"


def _notes(answer: Answer) -> list[str]:
    rows = answer["sites"]
    notes = [f"{kind}: {text}" for kind, text in _WORDS.items() if any(row["kind"] == kind for row in rows)]
    doubted = [row for row in rows if row["reason"]]
    notes += [f"{row['kind']}, {row['name']}: {row['reason']}" for row in doubted[:1]]
    if answer["limit_bytes"]:
        notes.append(_about_limit(answer))
    return notes


def _about_limit(answer: Answer) -> str:
    left = _to_limit(answer, answer)
    is_of = "resident" if answer["used_is_resident"] else "live"
    reached = f"total growth of {units.rate(answer['growth_bytes_per_s'])} reaches it in {left}"
    return (
        f"limit {units.size(answer['limit_bytes'])}, {units.size(answer['used_bytes'])} {is_of} at the end: "
        f"{reached if left != _NONE else 'no certain growth towards it'}"
    )


_WORDS = {
    LEAK: "the number of live blocks keeps growing; a cache without a limit looks the same",
    GROWING: "more and more blocks stay until the exit frees them",
    CREEP: "the number of blocks is steady, but each grows and never shrinks",
    WARM_UP: "it grew and stopped, or grows ever more slowly",
    SAWTOOTH: "it fills and empties repeatedly",
}


def _whole(value: float) -> int:
    return round(value) if math.isfinite(value) else _NOT_KNOWN


def _gist(answer: Answer) -> str:
    if outside := fastest_outside(answer):
        return outside
    sure = [row for row in answer["sites"] if row["is_sure"] and row["slope_bytes_per_s"] > 0]
    if not sure:
        return "nothing certainly grows" if answer["sites"] else ""
    return f"{sure[0]['name']} grows by {units.rate(sure[0]['slope_bytes_per_s'])} at the end"


QUESTION = Question(
    "growth",
    "Growth over time, by slope at the end",
    (
        Column("limit_bytes", "bytes", about="From --memory-limit; 0: none given."),
        Column("used_bytes", "bytes", about="Memory that counts towards the limit at the end."),
        Column("used_is_resident", "flag", about="used_bytes is resident memory, otherwise live bytes."),
        Column("peak_bytes", "bytes", value=lambda growth, _: growth.peak_bytes),
        Column("growth_bytes_per_s", "number", about="Of all sites and own mappings that certainly grow."),
        Column(
            "to_limit_ns",
            "integer",
            value=lambda growth, of: _time_left_ns(of, growth.growth_bytes_per_s),
            about="At that slope; -1: no limit, or no growth.",
        ),
    ),
    (
        sites(
            Column(
                "slope_bytes_per_s",
                "integer",
                "growth",
                lambda row, _: round(row.slope_bytes_per_s),
                text=_slope,
            ),
            Column(
                "half_width_bytes_per_s",
                "integer",
                value=lambda row, _: _whole(row.half_width_bytes_per_s),
                about="Half of the slope's 95 % interval; -1: not known.",
            ),
            Column("is_sure", "flag", about="The growth is statistically significant."),
            Column(
                "since_ns",
                "ns",
                about="The slope is from here to the end, or to where all was freed.",
            ),
            Column("until_ns", "ns", about="The end of the range of the slope."),
            Column("kind", Choice(KINDS), "kind", text=lambda row, _: str(row["kind"])),
            Column("reason", "text", about="Why it is unknown, or growing rather than a leak."),
            Column("leak_sign", Choice((leak_signs.LIKELY, leak_signs.POSSIBLE, NO_SIGN)), value="sign"),
            Column(
                "bytes_at_begin",
                "bytes",
                value="begin.bytes",
                about="When it first held something; of a creep, when it first had as many blocks.",
            ),
            Column("bytes_at_end", "bytes", value="end.bytes"),
            _from_to("bytes_at_begin", "bytes_at_end", "bytes"),
            Column("blocks_at_begin", value="begin.blocks"),
            Column("blocks_at_end", value="end.blocks"),
            _from_to("blocks_at_begin", "blocks_at_end", "count"),
            Column("mean_usable_at_begin", "number", value="begin.mean_usable_bytes"),
            Column("mean_usable_at_end", "number", "mean size", value="end.mean_usable_bytes", text=_sizes),
            Column(
                "to_limit_ns",
                "integer",
                lambda answer: "to the limit" if answer["limit_bytes"] else "",
                lambda row, of: _time_left_ns(of, row.slope_bytes_per_s if row.is_sure else 0),
                text=_to_limit,
            ),
            rows=Growth.rows,
            about="Sites that held at least 1/500 of the peak, and those with a sign of a leak.",
        ),
        sites(
            Column(
                "slope_bytes_per_s",
                "integer",
                "growth",
                lambda row, _: round(row.slope_bytes_per_s),
                text=lambda row, _: units.rate(row["slope_bytes_per_s"]),
            ),
            Column(
                "half_width_bytes_per_s", "integer", value=lambda row, _: _whole(row.half_width_bytes_per_s)
            ),
            Column("since_ns", "ns", about="The slope is from here to the end."),
            Column("begin_bytes", "bytes", about="Then resident."),
            Column("end_bytes", "bytes", "resident"),
            Column("again", "text", about="The setting that makes each object a call; empty: none."),
            Column("skip", "text", about="For --skip, which names its callers; empty: it has no name."),
            Column(
                "to_limit_ns",
                "integer",
                value=lambda row, of: _time_left_ns(of, row.slope_bytes_per_s),
            ),
            key="outside",
            rows=lambda growth: growth.outside,
            about="The program's own mappings that certainly grow in resident memory, by the site that maps.",
            title="Growth outside malloc, by the site that maps",
        ),
    ),
    prepare=Growth,
    findings=_findings,
    notes=_notes,
    gist=_gist,
)
