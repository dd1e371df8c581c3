# SPDX-License-Identifier: MIT
"""The verdict on a recording as plain data: heapwright.gate/1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from heapwright.gate.budget import MOST_SITES, Budget, Known, Rule
from heapwright.gate.limits import FIGURES, KINDS, PROGRAM
from heapwright.gate.measured import Measured
from heapwright.gate.site_costs import SiteCost
from heapwright.model.names import short_name, without_namespaces
from heapwright.report.columns import Choice, Column, Many, Record, Table, record

SCHEMA = "heapwright.gate/1"
WITHIN, OVER, UNDER = "within", "over", "under"
_MOST_SITES = 3
_LEAST_SHARE = 0.05  # of the excess, at one site, that is mentioned


class Checked(NamedTuple):
    """What was checked: the recordings (runs that count as one), and against what."""

    file: str
    toolchain: str
    program: str
    recordings: tuple[str, ...]
    notes: tuple[str, ...]


class _Check(NamedTuple):
    rule: Rule
    key: str
    limit: float
    lowest: float
    value: float
    values: Sequence[float]
    verdict: str
    run: str
    sites: Sequence[Record]


_SITE = (
    Column("name", "text"),
    Column("file", "text"),
    Column("line", "count", about="The first of lines; 0: not known."),
    Column("lines", Many("count"), about="Lines where the function allocates, the line with most first."),
    Column("value", "number"),
    Column("difference", "maybe", about="Difference since the limits were accepted; null: not known."),
    Column("is_new", "flag", about="It was not among the sites then."),
)
CHECK = (
    Column("kind", Choice(KINDS), value="rule.kind"),
    Column(
        "name", "text", value="rule.name", about="Of the site, thread, phase or scope; empty for the program."
    ),
    Column("figure", Choice(tuple(FIGURES)), value="key"),
    Column("label", "text", value=lambda check, _: FIGURES[check.key].label),
    Column(
        "unit",
        Choice(("count", "bytes", "ns", "bytes_per_s")),
        value=lambda check, _: FIGURES[check.key].unit,
    ),
    Column("value", "number", about="The median of the runs."),
    Column("values", Many("number"), value=lambda check, _: list(check.values)),
    Column("limit", "number"),
    Column(
        "lowest",
        "number",
        about="Below this a two-sided limit should be tightened; 0: one-sided.",
    ),
    Column("verdict", Choice((WITHIN, OVER, UNDER))),
    Column("reason", "text", value="rule.reason", about="The reason for the limit, from the budget."),
    Column("run", "text", about="For a phase or scope above its limit: the name of the one with most."),
    Column(
        "sites",
        Many(_SITE),
        value=lambda check, _: list(check.sites),
        about="Where it is; only for figures above the limit.",
    ),
)
CHECKS = Table("checks", CHECK, lambda checks: checks)
DOCUMENT = (
    Column("budget", "text", value="file"),
    Column("toolchain", "text", about="Empty: no specific one."),
    Column("program", "text"),
    Column("recordings", Many("text"), value=lambda checked, _: list(checked.recordings)),
    Column("notes", Many("text"), value=lambda checked, _: list(checked.notes)),
)


def make(checked: Checked, budget: Budget, runs: Sequence[Measured]) -> dict[str, Any]:
    """The document; is_within: no limit is broken."""
    checks = [
        _check(rule, key, number, budget, runs)
        for number, rule in enumerate(budget.rules)
        for key in FIGURES
        if key in rule.limits and all(key in run.figures[number] for run in runs)
    ]
    return {
        "schema": SCHEMA,
        **record(DOCUMENT, checked, {}),
        "is_within": all(check.verdict == WITHIN for check in checks),
        "checks": [record(CHECK, check, {}) for check in checks],
    }


def _check(rule: Rule, key: str, number: int, budget: Budget, runs: Sequence[Measured]) -> _Check:
    values = [run.figures[number][key] for run in runs]
    value, limit = median(values), rule.limits[key]
    lowest = 0.0 if rule.band is None else math.ceil(limit * (1 - rule.band))
    verdict = OVER if value > limit else UNDER if value < lowest else WITHIN
    run, found = "", list[Record]()
    if verdict == OVER:
        run, found = _where(rule, key, number, value - limit, budget, runs[0])
    return _Check(rule, key, limit, lowest, value, values, verdict, run, found)


def _where(
    rule: Rule, key: str, number: int, excess: float, budget: Budget, run: Measured
) -> tuple[str, list[Record]]:
    """The name of the phase or scope with most, and the sites."""
    if rule.kind == PROGRAM:
        return "", _changed(key, excess, run.sites, budget.known_sites)
    if (number, key) in run.most:
        name, sites = run.most[number, key]
        return name, _changed(key, excess, sites, {})
    return "", _places(run, number)


def _places(run: Measured, number: int) -> list[Record]:
    found = [site.location for site in run.places[number][:_MOST_SITES]]
    return [
        {
            "name": short_name(location.function),
            "file": location.file,
            "line": location.line,
            "lines": [location.line] if location.line else [],
            "value": 0,
            "difference": None,
            "is_new": False,
        }
        for location in found
    ]


def _changed(key: str, excess: float, sites: Sequence[SiteCost], known: Known) -> list[Record]:
    """The sites that grew most since the limits were accepted; if not known, the largest."""
    if not sites or key not in sites[0].figures:
        return []
    is_known = any(key in figures for figures in known.values())
    rises = [
        (site, site.figures[key] - (known_of(site, known) or {}).get(key, 0))
        for site in sites
        if not _is_ambiguous(site, known)
    ]
    least = max(1, _LEAST_SHARE * excess)
    shown = sorted((one for one in rises if one[1] >= least), key=lambda one: -one[1])[:_MOST_SITES]
    return [_site(site, key, rise if is_known else None, known) for site, rise in shown]


def known_of(site: SiteCost, known: Known) -> Mapping[str, int] | None:
    """Its cost then. Debug information may omit the namespace of an inlined function."""
    if site.name in known:
        return known[site.name]
    bare = without_namespaces(site.name)
    same = [name for name in known if without_namespaces(name) == bare]
    return known[same[0]] if len(same) == 1 and bare in (site.name, same[0]) else None


def _is_ambiguous(site: SiteCost, known: Known) -> bool:
    """Whether it may be one of several known sites, so that its cost then is unknown."""
    if known_of(site, known) is not None:
        return False
    bare = without_namespaces(site.name)
    same = [name for name in known if without_namespaces(name) == bare]
    return bare in same or (bare == site.name and len(same) > 0)


def _site(site: SiteCost, key: str, rise: int | None, known: Known) -> Record:
    is_listed = known_of(site, known) is not None
    # The cost then of a site left out of a full list is not known.
    is_told = rise is not None and (is_listed or len(known) < MOST_SITES)
    file, lines = site.lines_of(key)
    return {
        "name": site.name,
        "file": file,
        "line": lines[0] if lines else 0,
        "lines": lines,
        "value": site.figures[key],
        "difference": rise if is_told else None,
        "is_new": is_told and not is_listed,
    }
