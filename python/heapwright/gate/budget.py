# SPDX-License-Identifier: MIT
"""The budget file: limits, exclusions, and baselines of toolchains (docs/gate.md)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from heapwright.gate.limits import FIGURES, KINDS, LOST, PROGRAM, SITE

TIGHTEN_BELOW = 0.1  # with two_sided = true: how far below its limit a figure may be
_TOP_KEYS = (*KINDS, "ignore", "only", "suppressions", "two_sided", "toolchain")
_RULE_KEYS = ("two_sided", "reason", "optional")
_SITES = "sites"
SITE_FIGURES = ("calls", "bytes", "peak_live_bytes")
MOST_SITES = 300  # kept in the file
MOST = 2**63 - 1  # the largest number of TOML

Known = Mapping[str, Mapping[str, int]]
Table = Mapping[str, Any]


class BudgetError(Exception):
    """An error in the budget, in one line."""


class NoToolchainError(BudgetError):
    """There are no limits for that toolchain yet."""


class Rule(NamedTuple):
    """Limits of one item. band: how far below its limit a figure may be, a share; None: any distance.

    is_optional: a site, thread, phase or scope of that name may be absent.
    """

    kind: str
    name: str
    limits: Mapping[str, float]
    band: float | None
    reason: str
    is_optional: bool

    def __str__(self) -> str:
        return self.kind if self.kind == PROGRAM else f"{self.kind} {self.name}"


class Budget(NamedTuple):
    """A file, for one toolchain. known_sites: their costs when the limits were accepted, by name.

    ignore, only: libraries whose call sites do not count, or exclusively count; empty: all count.
    """

    rules: tuple[Rule, ...]
    ignore: tuple[str, ...]
    suppressions: tuple[str, ...]
    known_sites: Known
    only: tuple[str, ...] = ()


def limits_lost_blocks(budget: Budget) -> bool:
    """Whether it needs snapshots."""
    return any(key in LOST for rule in budget.rules for key in rule.limits)


def parse(text: str, toolchain: str = "") -> Budget:
    """Reads the budget; BudgetError names the key and its valid values."""
    try:
        whole = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BudgetError(f"not valid TOML: {str(error)[:1].lower()}{str(error)[1:]}") from None
    except (ValueError, RecursionError):
        raise BudgetError(
            "not readable TOML: a number has too many digits, or tables are nested too deeply"
        ) from None
    _check_keys(whole, _TOP_KEYS, "the file")
    _check_toolchains(whole.get("toolchain", {}))
    tables: list[Table] = [whole]
    if toolchain:
        tables.append(_toolchain(whole, toolchain))
    rules: dict[tuple[str, str], dict[str, Any]] = {}
    for table in tables:
        own: set[tuple[str, str]] = set()
        for kind, name, keys in _rules_of(table):
            if (kind, name) in own:
                raise BudgetError(f"{kind} {name} is given twice")
            own.add((kind, name))
            rules.setdefault((kind, name), {}).update(keys)
    known = rules.get((PROGRAM, ""), {}).pop(_SITES, {})
    return Budget(
        tuple(_rule(*named, keys, whole.get("two_sided", False)) for named, keys in rules.items()),
        _texts(whole, "ignore"),
        _texts(whole, "suppressions"),
        _known_sites(known),
        _texts(whole, "only"),
    )


def _check_toolchains(given: Any) -> None:
    if not isinstance(given, dict) or not all(isinstance(table, dict) for table in given.values()):
        raise BudgetError("toolchain holds tables by name: [toolchain.NAME.program]")


def _toolchain(whole: Table, name: str) -> Table:
    tables = whole.get("toolchain", {})
    if name not in tables:
        known = f"; known: {', '.join(tables)}" if tables else ""
        raise NoToolchainError(
            f'no [toolchain."{name}"]{known}; heapwright gate --accept --toolchain {name} writes one'
        )
    found: Table = tables[name]
    _check_keys(found, KINDS, f"toolchain {name}")
    return found


def _rules_of(table: Table) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for kind in KINDS:
        given = table.get(kind, [])
        if kind == PROGRAM:
            if kind in table and not isinstance(given, dict):
                raise BudgetError("program is one table: [program]")
            if given:
                yield PROGRAM, "", dict(given)
            continue
        if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
            raise BudgetError(f"{kind} is a list of tables: [[{kind}]]")
        for one in given:
            keys = dict(one)
            name = keys.pop("name", "")
            if not isinstance(name, str) or not name:
                raise BudgetError(f'a [[{kind}]] has no name; write name = "…"')
            if not name.isprintable():
                raise BudgetError(f"a [[{kind}]] is named {name!a}; names have only printable characters")
            if kind == SITE and name.isdecimal():
                raise BudgetError(f"site {name}: name a function; numbers are valid in only one recording")
            yield kind, name, keys


def _rule(kind: str, name: str, keys: Mapping[str, Any], two_sided: Any) -> Rule:
    figures = [key for key, figure in FIGURES.items() if kind in figure.kinds]
    where = kind if kind == PROGRAM else f"{kind} {name}"
    _check_keys(keys, (*figures, *_RULE_KEYS), where)
    limits = {key: _limit(where, key, value) for key, value in keys.items() if key in figures}
    if not limits:
        raise BudgetError(f"{where} has no limit; known limits: {', '.join(figures)}")
    reason, is_optional = keys.get("reason", ""), keys.get("optional", False)
    if not isinstance(reason, str) or not isinstance(is_optional, bool):
        raise BudgetError(f"{where}: reason is a text, optional is true or false")
    return Rule(kind, name, limits, _band(where, keys.get("two_sided", two_sided)), reason, is_optional)


def _limit(where: str, key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise BudgetError(f"{where}: {key} takes a number of at least 0, not {value!r}")
    if value > MOST:
        raise BudgetError(f"{where}: {key} is above {MOST}, the maximum of a limit")
    return value


def _band(where: str, value: Any) -> float | None:
    if isinstance(value, bool):
        return TIGHTEN_BELOW if value else None
    if not isinstance(value, int | float) or not 0 <= value < 1:
        raise BudgetError(f"{where}: two_sided is true, false, or a share such as 0.05, not {value!r}")
    return float(value)


def _texts(table: Table, key: str) -> tuple[str, ...]:
    given = table.get(key, [])
    if not isinstance(given, list) or not all(isinstance(text, str) and text for text in given):
        raise BudgetError(f'{key} is a list of texts: {key} = ["libpython*"]')
    return tuple(given)


def _known_sites(given: Any) -> Known:
    def is_site(site: Any) -> bool:
        return isinstance(site, dict) and all(
            key in SITE_FIGURES and isinstance(value, int) and 0 <= value <= MOST
            for key, value in site.items()
        )

    if not isinstance(given, dict) or not all(map(is_site, given.values())):
        raise BudgetError(
            f"program.sites is written by --accept: name = {{{' = …, '.join(SITE_FIGURES)} = …}}"
        )
    return given


def _check_keys(table: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in table:
        if key in known or (where == PROGRAM and key == _SITES):
            continue
        if key in FIGURES:
            limits = ", ".join(name for name in known if name in FIGURES)
            if not limits:
                raise BudgetError(f"{where}: {key} belongs below {_headings(FIGURES[key].kinds)}")
            raise BudgetError(f"{where}: {key} is not one of its limits; known limits: {limits}")
        if not key.isprintable():
            raise BudgetError(f"{where}: unknown key {key!a}")
        from difflib import get_close_matches  # only for error messages

        near = get_close_matches(key, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
        raise BudgetError(f"{where}: unknown key {key}; {hint}")


def _headings(kinds: Sequence[str]) -> str:
    """The tables of these kinds, as written in the file."""
    *others, last = (f"[{kind}]" if kind == PROGRAM else f"[[{kind}]]" for kind in kinds)
    return f"{', '.join(others)} or {last}" if others else last
