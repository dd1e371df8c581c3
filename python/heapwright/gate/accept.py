# SPDX-License-Identifier: MIT
"""Writes the measured figures into the budget file, and keeps the rest unchanged."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from heapwright.gate.budget import MOST_SITES, SITE_FIGURES, Budget, BudgetError, Rule
from heapwright.gate.limits import FIGURES, KINDS, LIVE, NOISY, PROGRAM
from heapwright.gate.measured import Measured
from heapwright.gate.site_costs import SiteCost
from heapwright.model.extras import MissingPackageError

RUNS_OF_THREADS = 5  # default for a program with several threads, whose peak varies
_HEADROOM = 0.05  # minimum, for noisy figures
_KEPT_FROM = 0.8  # of its limit: the limit is kept if a noisy figure needs between this and all of it

START = """\
# What this program's heap may cost. heapwright gate checks it; --accept --reason TEXT updates it.

[program]
calls = 0
bytes = 0
peak_live_bytes = 0
live_at_end_bytes = 0
"""


def wavers_with_threads(budget: Budget) -> bool:
    """Whether a limited figure depends on thread timing."""
    return any(FIGURES[key].certainty == LIVE for rule in budget.rules for key in rule.limits)


def rewritten(
    text: str, budget: Budget, toolchain: str, reason: str, runs: Sequence[Measured], is_single_thread: bool
) -> tuple[str, list[str]]:
    """The file's new text, and a line for each limit that changed."""
    document = _tomlkit().parse(text)
    _check_form(document)
    scope = document
    if toolchain:
        scope = _table_of(_table_of(document, "toolchain", is_super=True), toolchain)
    changes = []
    for number, rule in enumerate(budget.rules):
        new = _new_limits(rule, [run.figures[number] for run in runs], is_single_thread)
        changed = {key: value for key, value in new.items() if value != rule.limits[key]}
        table = _rule_table(scope, rule)
        for key, value in new.items():
            if toolchain or key in changed or key not in table:
                table[key] = value
        if changed:
            table["reason"] = reason
        changes += [f"{rule}: {key} {rule.limits[key]} → {value}" for key, value in changed.items()]
    if any(rule.kind == PROGRAM for rule in budget.rules):
        _write_sites(_table_of(scope, PROGRAM), runs[0])
    new = _tomlkit().dumps(document)
    try:
        tomllib.loads(new)
    except ValueError:
        raise BudgetError(
            "--accept cannot write into tables of this form; use [program] and [[site]]"
        ) from None
    return new, changes


def _check_form(document: Any) -> None:
    """Refuses inline tables, which cannot be written into."""
    items = import_module("tomlkit.items")
    toolchains = document.get("toolchain", {})
    for scope in (document, toolchains, *toolchains.values()):
        for key in (*KINDS, "toolchain", *(toolchains if scope is toolchains else ())):
            if isinstance(scope.get(key), items.InlineTable | items.Array):
                raise BudgetError(
                    f"--accept cannot write into {key} = … on one line; use tables: [program], [[site]]"
                )


def _tomlkit() -> Any:
    try:
        return import_module("tomlkit")
    except ModuleNotFoundError:
        raise MissingPackageError("tomlkit", "gate") from None


def _new_limits(rule: Rule, runs: Sequence[Mapping[str, float]], is_single_thread: bool) -> dict[str, int]:
    found = {}
    for key, limit in rule.limits.items():
        values = [run[key] for run in runs if key in run]
        if not values:
            continue
        certainty = FIGURES[key].certainty
        is_noisy = certainty == NOISY or (certainty == LIVE and not is_single_thread)
        found[key] = _with_room(values, limit) if is_noisy else math.ceil(max(values))
    return found


def _with_room(values: Sequence[float], limit: float) -> int:
    """The highest plus the spread of the runs: with five runs, the next one hardly ever exceeds that."""
    highest = max(values)
    least = highest + (highest - min(values))
    if _KEPT_FROM * limit <= least <= limit:
        return math.ceil(limit)
    return math.ceil(max(least, highest * (1 + _HEADROOM)))


def _table_of(table: Any, name: str, is_super: bool = False) -> Any:
    if name not in table:
        table[name] = _tomlkit().table(is_super)
    return table[name]


def _rule_table(scope: Any, rule: Rule) -> Any:
    """The table of this rule; creates one for a toolchain without it."""
    if rule.kind == PROGRAM:
        return _table_of(scope, PROGRAM)
    if rule.kind not in scope:
        scope[rule.kind] = _tomlkit().aot()
    for table in scope[rule.kind]:
        if table.get("name") == rule.name:
            return table
    table = _tomlkit().table()
    table["name"] = rule.name
    scope[rule.kind].append(table)
    return table


def _write_sites(program: Any, run: Measured) -> None:
    """What each site costs, to show later which one grew."""
    sites = _tomlkit().table()
    for site in _largest(run.sites):
        row = _tomlkit().inline_table()
        for key in SITE_FIGURES:
            row[key] = site.figures[key]
        sites[site.name] = row
    program["sites"] = sites


def _largest(sites: Sequence[SiteCost]) -> list[SiteCost]:
    """Sites ordered by the largest of their shares of any figure."""
    whole = {key: sum(site.figures[key] for site in sites) or 1 for key in SITE_FIGURES}
    return sorted(sites, key=lambda site: -max(site.figures[key] / whole[key] for key in SITE_FIGURES))[
        :MOST_SITES
    ]
