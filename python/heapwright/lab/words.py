# SPDX-License-Identifier: MIT
"""Figures as people read them."""

from __future__ import annotations

import math
from collections.abc import Callable


def _digits(value: float, digits: int = 3) -> str:
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "–"
    # The exponent of the rounded value: 9.996 is 10.0, not 10.00.
    exponent = int(f"{value:.{digits - 1}e}".rpartition("e")[2])
    return f"{value:,.{min(max(0, digits - 1 - exponent), 3)}f}"


def _with_steps(value: float, steps: tuple[tuple[float, str], ...]) -> str:
    for factor, unit in steps:
        # What rounds to the next unit is shown in it.
        if abs(value) >= factor * 0.9995:
            return f"{_digits(value / factor)} {unit}"
    factor, unit = steps[-1]
    return f"{_digits(value / factor)} {unit}"


def _time(value: float) -> str:
    return _with_steps(value, ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns")))


def _size(value: float) -> str:
    return _with_steps(value, ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1, "B")))


def _rate(value: float) -> str:
    return _with_steps(value, ((1e6, "M/s"), (1e3, "k/s"), (1, "/s")))


def _count(value: float) -> str:
    return _with_steps(value, ((1e6, "M"), (1e3, "k"), (1, ""))).strip()


_WRITERS: dict[str, Callable[[float], str]] = {
    "ns": _time,
    "bytes": _size,
    "per_s": _rate,
    "count": _count,
    "ratio": _digits,
    "percent": lambda value: f"{_digits(value)} %",
    "share": lambda value: f"{_digits(100 * value)} %",
}
UNITS = frozenset(_WRITERS)


def number(value: float | None, unit: str) -> str:
    """The figure with its unit.

    >>> number(1234.5, "ns"), number(0.25, "share"), number(68_400, "count"), number(None, "ns")
    ('1.23 µs', '25.0 %', '68.4 k', '–')
    """
    return "–" if value is None else _WRITERS[unit](value)


def seconds(value: float) -> str:
    """A waiting time.

    >>> seconds(75)
    '1 min 15 s'
    """
    whole = max(0, round(value))
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"
