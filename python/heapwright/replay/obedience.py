# SPDX-License-Identifier: MIT
"""Whether an allocator accepts its settings: most silently ignore unknown ones."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from heapwright.measure import machine
from heapwright.measure.allocators import REFERENCE, Shelf
from heapwright.measure.errors import MeasureError
from heapwright.replay import settings

if TYPE_CHECKING:
    from heapwright.replay.candidates import Candidate

_TUNABLE = re.compile(r"^glibc\.malloc\.(\w+): \S+ \(min: (\S+), max: (\S+)\)$", re.MULTILINE)
_OPTION = re.compile(r"^mimalloc: option '(\w+)': (-?\d+)", re.MULTILINE)
_LIMIT_S = 20


def check(shelf: Shelf, allocator: Candidate, name: str, chosen: Mapping[str, str]) -> None:
    """chosen: the settings, by name. MeasureError for one that it does not accept, if that can be known."""
    if name == REFERENCE:
        _check_tunables(chosen, tunables())
        return
    if name == "tbb" and chosen.get("huge_pages") == "1":
        _check_huge_pages()
    complaint = next(iter(shelf.said(allocator).strip().splitlines()), "")
    if complaint:
        raise MeasureError(f"{allocator.name} does not accept it: {complaint}")
    _check_listed(shelf, allocator, name, chosen)


def _check_huge_pages() -> None:
    """If there are none, tbb maps its memory as before, and only says that they were requested."""
    mode = machine.transparent_huge_pages()
    if machine.reserved_huge_pages() == 0 and mode != "always":
        raise MeasureError(
            "tbb.huge_pages=1 has no effect: no huge pages are reserved (sysctl vm.nr_hugepages), and "
            f"transparent ones are '{mode}', where tbb needs 'always'"
        )


def _check_listed(shelf: Shelf, allocator: Candidate, name: str, chosen: Mapping[str, str]) -> None:
    """mimalloc can list its options; an old option name shows in the value of the new one."""

    def listed(variables: Mapping[str, str]) -> dict[str, str]:
        asked = replace(allocator, variables={**variables, "MIMALLOC_VERBOSE": "1"})
        return dict(_OPTION.findall(shelf.said(asked)))

    plain = listed({})
    for setting, text in chosen.items() if plain else ():
        if setting not in plain and listed(settings.environment_of(name, {setting: text})) == plain:
            close = get_close_matches(setting, plain, 1, 0.5)
            hint = f"did you mean {close[0]}?" if close else f"it has: {', '.join(plain)}"
            raise MeasureError(f"this {name} has no setting {setting}; {hint}")


def _check_tunables(chosen: Mapping[str, str], known: Mapping[str, range]) -> None:
    """A glibc setting is the tunable of that name. known is empty if not known."""
    for name, text in chosen.items() if known else ():
        if name not in known:
            raise MeasureError(f"this glibc has no setting {name}; it has: {', '.join(known)}")
        value, allowed = in_bytes(text), known[name]
        if value is not None and value not in allowed:
            raise MeasureError(f"glibc.{name} takes {allowed.start} to {allowed.stop - 1}, not '{text}'")


def in_bytes(text: str) -> int | None:
    """The number in bytes.

    >>> in_bytes("128k"), in_bytes("-1"), in_bytes("always")
    (131072, -1, None)
    """
    found = re.fullmatch(r"(-?\d+)([kmg]?)(?:i?b)?", text, re.IGNORECASE)
    return int(found[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[found[2].lower()] if found else None


@cache
def tunables() -> dict[str, range]:
    """The tunables and their ranges from glibc's loader; empty before 2.33."""
    loader = re.search(r"/\S*ld-linux\S*", Path("/proc/self/maps").read_text(encoding="utf-8"))
    if loader is None:
        return {}
    command = [loader[0], "--list-tunables"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return {name: range(int(least, 0), int(most, 0) + 1) for name, least, most in _TUNABLE.findall(said)}
