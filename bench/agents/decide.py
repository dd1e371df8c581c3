# SPDX-License-Identifier: MIT
"""The decision table of docs/agents.md, run on explain --json --brief and on nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

Brief = Mapping[str, Any]
Found = Iterator[tuple[str, str]]

_LEAST_SLOW = 0.01
_LEAST_KEPT = 0.5


class Row(NamedTuple):
    """when and then: as the document says it. find: the causes it names with their sites.

    ends: rows below it say nothing. asks: only its author knows whether it is a cause.
    """

    when: str
    then: str
    find: Callable[[Brief], Found]
    ends: bool = False
    asks: bool = False


class Cause(NamedTuple):
    """What to change, or to ask the author about."""

    cause: str
    site: str
    is_question: bool


def _answer(brief: Brief, question: str, table: str) -> list[Mapping[str, Any]]:
    return list(brief["questions"].get(question, {}).get(table, []))


def _not_whole(brief: Brief) -> Found:
    if not brief["summary"]["completeness"]["is_complete"]:
        yield "incomplete", ""


def _creep(brief: Brief) -> Found:
    for row in _answer(brief, "growth", "sites"):
        if row["is_sure"] and row["kind"] == "creep":
            yield "creep", row["name"]


def _leak(brief: Brief) -> Found:
    kept = {row["name"] for row in _answer(brief, "leaks", "sites") if row["share"] >= _LEAST_KEPT}
    signs = {row["name"] for row in _answer(brief, "leaks", "signs")}
    growing = [row for row in _answer(brief, "growth", "sites") if row["is_sure"]]
    names = [row["name"] for row in growing if row["kind"] == "leak"]
    names += [row["name"] for row in growing if row["kind"] in ("warm-up", "unknown") and row["name"] in kept]
    for name in dict.fromkeys([*names, *sorted(signs)]):
        yield "leak", name


def _fragmented(brief: Brief) -> Found:
    cause = brief["questions"].get("cause", {})
    if cause.get("verdict") != "fragmented":
        return
    separable = [row["name"] for row in cause["sites"] if row["separates"] == "yes"]
    remedies = [row["kind"] for row in cause["remedies"] if row["helps"] == "helps"]
    if separable:
        yield "pinned", separable[0]
    for remedy in remedies[:1]:
        yield remedy, ""


def _advice(is_low: bool) -> Callable[[Brief], Found]:
    def find(brief: Brief) -> Found:
        for row in _answer(brief, "advice", "advice"):
            if (row["confidence"] == "low") == is_low:
                yield row["rule"], "; ".join([row["name"], *row["other_sites"]])

    return find


def _slow(brief: Brief) -> Found:
    least = _LEAST_SLOW * brief["summary"]["duration_ns"]
    for row in _answer(brief, "slow_calls", "patterns"):
        if row["duration_ns"] >= least:
            yield row["name"], ""


def _elsewhere(brief: Brief) -> Found:
    if brief["questions"].get("cause", {}).get("verdict") == "elsewhere":
        sites = _answer(brief, "mappings", "sites")
        yield "elsewhere", sites[0]["name"] if sites else ""


TABLE = (
    Row(
        "`summary.completeness.is_complete` is false",
        "stop: read `reasons` and record again; the figures are too low",
        _not_whole,
        ends=True,
    ),
    Row(
        "`growth.sites[]`: `is_sure` and `kind` is `creep`",
        "objects keep the capacity of their largest use: trim them when they return to their pool "
        "(object_pool), or bound what is kept (buffer_cache)",
        _creep,
    ),
    Row(
        "`growth.sites[]`: `is_sure` and `kind` is `leak`; or `warm-up` or `unknown`, and the site has half "
        "of `leaks.sites[].share`; or it is in `leaks.signs[]`",
        "find who should free or evict it: `heapwright explain FILE --site NAME --tree callers`",
        _leak,
    ),
    Row(
        "`cause.verdict` is `fragmented`",
        "the first of `cause.sites[]` with `separates` = `yes`: give these blocks their own pool "
        "(`replay --change segregate@NAME` tries it); otherwise the first of `cause.remedies[]` with `helps` "
        "= `helps`",
        _fragmented,
    ),
    Row(
        "`advice.advice[]` with `confidence` `high` or `medium`, in order",
        "do `action`; if `replay_change` is not empty, first measure it with `replay --change`",
        _advice(is_low=False),
    ),
    Row(
        "`slow_calls.patterns[]` with 1 % of `summary.duration_ns` or more",
        "do its `remedy`",
        _slow,
    ),
    Row(
        "`cause.verdict` is `elsewhere`",
        "the heap is not the cause: look at `mappings.sites[]`",
        _elsewhere,
    ),
    Row(
        "`advice.advice[]` with `confidence` `low`",
        "ask the author whether it is intended, or whether somebody waits there; change nothing before",
        _advice(is_low=True),
        asks=True,
    ),
)


def causes(brief: Brief) -> list[Cause]:
    """Most urgent first; empty: nothing worth a change."""
    found: list[Cause] = []
    for row in TABLE:
        hits = [Cause(*hit, row.asks) for hit in row.find(brief)]
        found += [hit for hit in hits if hit not in found]
        if hits and row.ends:
            break
    return found
