# SPDX-License-Identifier: MIT
"""Selectors of call sites: a function, function@file:line, or a number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from heapwright.model.names import short_name
from heapwright.model.sites import Site


def is_selected(site: Site, selector: str) -> bool:
    """Whether the selector names this site. Namespaces and classes may be left out."""
    if selector.isdecimal():
        return str(site.number) == selector
    if _is_named(site, selector):
        return True
    name, separator, place = selector.rpartition("@")
    if not separator or not _is_named(site, name):
        return False
    return site.where == place or site.where.endswith(f"/{place}")


def selected(sites: Sequence[Site], selector: str) -> list[Site]:
    """The sites that match."""
    return [site for site in sites if is_selected(site, selector)]


def listed(text: str) -> list[str]:
    """Several selectors with commas between them; not those in template arguments and parameters.

    >>> listed("load, Map<int, long>::at,f(int, int)")
    ['load', 'Map<int, long>::at', 'f(int, int)']
    """
    return [part for part in _split(text) if part]


def _split(text: str) -> Iterator[str]:
    depth, begin = 0, 0
    for at, letter in enumerate(text):
        if letter in "(<{[":
            depth += 1
        elif letter in ")>}]":
            depth = max(0, depth - 1)
        elif letter == "," and depth == 0:
            yield text[begin:at].strip()
            begin = at + 1
    yield text[begin:].strip()


def matching(sites: Sequence[Site], pattern: str) -> list[Site]:
    """The sites that a selector names; if none has that name, * matches any text: parse_*@parse.cpp:*."""
    exact = selected(sites, pattern)
    if exact or "*" not in pattern:
        return exact
    function, _, place = pattern.partition("@")
    wanted, where = (
        re.compile(".*".join(map(re.escape, part.split("*")))) for part in (function, place or "*")
    )
    return [
        site
        for site in sites
        if any(wanted.fullmatch(name) for name in _tails(site)) and any(map(where.fullmatch, _places(site)))
    ]


def _tails(site: Site) -> Iterator[str]:
    """The function's names, each also without its first namespaces."""
    for name in _names(site):
        while name:
            yield name
            name = name.partition("::")[2]


def _places(site: Site) -> Iterator[str]:
    """file:line, each also without its first folders."""
    place = site.where
    while place:
        yield place
        place = place.partition("/")[2]


def why_none(sites: Sequence[Site], selector: str) -> str:
    """The error if it names none of them."""
    if selector.isdecimal():
        return f"no site {selector}; their numbers are below {len(sites)} (heapwright explain --json)"
    from difflib import get_close_matches  # only for error messages

    names = dict.fromkeys(name for site in sites for name in _names(site))
    close = get_close_matches(selector, names, 1, 0.5)
    hint = f"did you mean {close[0]}?" if close else "heapwright explain names them"
    if "+0x" not in selector and (library := _without_names(sites)):
        hint = f"most functions of {library} have no names here: it is stripped, or was built anew"
    return f"no call site {selector} in the recording; {hint}"


def _without_names(sites: Sequence[Site]) -> str:
    """The file with most sites, if most of these have no names; else ""."""
    counts: dict[str, int] = {}
    for site in sites:
        counts[site.location.library] = counts.get(site.location.library, 0) + 1
    library = max(counts, key=lambda one: counts[one], default="")
    unnamed = sum(site.location.function.startswith(f"{library}+") for site in sites)
    return library if library and 2 * unnamed > counts[library] else ""


def _names(site: Site) -> tuple[str, str]:
    function = site.location.function
    return function, short_name(function)


def _is_named(site: Site, name: str) -> bool:
    return any(known == name or known.endswith(f"::{name}") for known in _names(site))
