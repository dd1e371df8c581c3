# SPDX-License-Identifier: MIT
"""The gains estimated by advice on A, and what happened at its call sites in B."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from heapwright.compare.matching import Key
from heapwright.compare.noise import LESS, MORE, SAME, UNKNOWN, Difference
from heapwright.compare.sites import Pair
from heapwright.report import units

# The figure that each gain refers to.
FIGURES = {"gain_ns": "time_ns", "gain_bytes": "peak_live_bytes"}
AS_SAID, MORE_THAN_SAID, LESS_THAN_SAID = "as-said", "more-than-said", "less-than-said"
NOTHING, WORSE, NOT_KNOWN = "nothing", "worse", "not-known"
OUTCOMES = (AS_SAID, MORE_THAN_SAID, LESS_THAN_SAID, NOTHING, WORSE, NOT_KNOWN)
_WORDS = {
    AS_SAID: "as estimated",
    MORE_THAN_SAID: "more than estimated",
    LESS_THAN_SAID: "less than estimated",
    NOTHING: "no difference",
    WORSE: "worse",
    NOT_KNOWN: "not known: give at least three recordings per side",
}


class Advised(NamedTuple):
    """One piece of explain's advice on A. sites: numbers in its first recording; gains: by FIGURES, 0 = none
    given; is_least: they are not upper bounds. replayed: what a replay of A measured."""

    rule: str
    name: str
    sites: tuple[int, ...]
    gains: Mapping[str, int]
    is_least: bool
    replay_change: str
    replayed: Sequence[Mapping[str, Any]] = ()


class Said(NamedTuple):
    """The advice with its matched sites of both sides."""

    advised: Advised
    keys: frozenset[Key]


def with_keys(advice: Iterable[Advised], keys: Sequence[Key]) -> tuple[Said, ...]:
    """keys: of A's first recording."""
    return tuple(Said(one, frozenset(keys[site] for site in one.sites)) for one in advice)


def pairs_of(said: Said, pairs: Iterable[Pair]) -> list[Pair]:
    """The pairs that contain its sites, each once."""
    return [pair for pair in pairs if not said.keys.isdisjoint(pair.keys)]


def outcome(said: int, is_least: bool, found: Difference) -> str:
    """The result compared to the estimate, both from recordings, within the spread of one side's runs."""
    if found.verdict == UNKNOWN:
        return NOT_KNOWN
    if found.verdict == SAME:
        return NOTHING
    if found.verdict == MORE:
        return WORSE
    gained, band = -found.difference, found.band or 0.0
    if is_least:
        return LESS_THAN_SAID if gained < said - band else AS_SAID
    return MORE_THAN_SAID if gained > said + band else AS_SAID


def sentence(row: Mapping[str, Any], totals: Mapping[str, Mapping[str, Any]]) -> str:
    """One row of the document in words."""
    parts = [_of_figure(row, key, totals[key]) for key in row["outcomes"]]
    for figure in row["replayed"]:
        amount = units.signed(figure["difference"], figure["unit"])
        parts.append(f"a replay measured {figure['figure']} {amount} ({figure['verdict']})")
    calls = "" if row["calls"]["verdict"] in (LESS, MORE) else "; its calls are unchanged"
    return f"{row['rule']} at {row['name']}: {'; '.join(parts)}{calls}"


def _of_figure(row: Mapping[str, Any], key: str, total: Mapping[str, Any]) -> str:
    one, bound = row["outcomes"][key], "at least" if row["gain_is_least"] else "at most"
    said = f"{bound} {units.number(one['said'], total['unit'])} estimated"
    if one["outcome"] in (NOTHING, NOT_KNOWN):
        return f"{said}, {_WORDS[one['outcome']]}"
    there = units.signed(one["figure"]["difference"], total["unit"])
    if not one["is_in_all"]:
        return f"{said}, {there} there: {_WORDS[one['outcome']]}"
    in_all = units.signed(total["difference"], total["unit"])
    return f"{said}, {in_all} in all: {_WORDS[one['outcome']]} (the site is gone; others may do its work)"
