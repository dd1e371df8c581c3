# SPDX-License-Identifier: MIT
"""Figures as people read them: three digits and a unit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

_Steps = Sequence[tuple[float, str]]
_BINARY: _Steps = tuple((2.0 ** (10 * n), unit) for n, unit in enumerate("B KiB MiB GiB TiB PiB EiB".split()))
_TIMES: _Steps = ((1, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s"))
_RATES: _Steps = ((1, "/s"), (1e3, "k/s"), (1e6, "M/s"), (1e9, "G/s"))
_TIMES_FROM = 9  # ten times as much is no percentage any more
_ROUNDS_UP = 0.9995  # what rounds to the next unit is shown in it: 1023.5 KiB are 1.00 MiB


def three_digits(value: float) -> str:
    """At most three decimals; whole thousands are marked.

    >>> three_digits(9.996), three_digits(1234), three_digits(0.25)
    ('10.0', '1,234', '0.250')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "–"
    exponent = int(f"{value:.2e}".rpartition("e")[2])  # of the rounded value
    return f"{value:,.{min(max(0, 2 - exponent), 3)}f}"


def _with_unit(value: float, steps: _Steps) -> str:
    """The largest unit that leaves a whole part."""
    factor, unit = next((step for step in reversed(steps) if abs(value) >= step[0] * _ROUNDS_UP), steps[0])
    if factor == 1 and value == round(value):
        return f"{value:g} {unit}"  # what is counted is shown as it is: 1023 B
    return f"{three_digits(value / factor)} {unit}"


def size(count: float) -> str:
    """Bytes with a binary unit.

    >>> size(1536), size(1023)
    ('1.50 KiB', '1023 B')
    """
    return _with_unit(count, _BINARY)


def rate(bytes_per_s: float) -> str:
    """Bytes a second.

    >>> rate(2048), rate(-3e6), rate(0.25)
    ('2.00 KiB/s', '-2.86 MiB/s', '0 B/s')
    """
    return f"{size(round(bytes_per_s))}/s"


def duration(time_ns: float) -> str:
    """Nanoseconds with a unit.

    >>> duration(1_234_567), duration(125 * 10**9)
    ('1.23 ms', '2 min 5 s')
    """
    if time_ns >= 120e9:
        minutes, seconds = divmod(int(time_ns) // 10**9, 60)
        return f"{minutes} min {seconds} s"
    return _with_unit(time_ns, _TIMES)


def count(number: float) -> str:
    """A count with thousands marked, or in millions.

    >>> count(1234567), count(68_412), count(0.5)
    ('1.23 M', '68,412', '0.500')
    """
    if number >= 999_500_000:
        return f"{three_digits(number / 1e9)} G"
    if number >= 1e6:
        return f"{three_digits(number / 1e6)} M"
    return f"{number:,.0f}" if number == round(number) else three_digits(number)


def counted(number: int, noun: str, plural: str = "") -> str:
    """A count of things.

    >>> counted(1, "block"), counted(1200, "block"), counted(0, "address", "addresses")
    ('1 block', '1,200 blocks', '0 addresses')
    """
    return f"{count(number)} {noun if number == 1 else plural or noun + 's'}"


def percent(part: float, whole: float = 1) -> str:
    """A share; tiny ones are not rounded to nothing.

    >>> percent(1, 3), percent(0.0001), percent(1, 0)
    ('33.3 %', '<0.1 %', '–')
    """
    if whole <= 0:
        return "–"
    share = 100 * part / whole
    return "<0.1 %" if 0 < share < 0.1 else f"{share:.1f} %"


# By the name of a figure's unit.
WRITERS: dict[str, Callable[[float], str]] = {
    "bytes": size,
    "ns": duration,
    "count": count,
    "bytes_per_s": rate,
    "per_s": lambda value: _with_unit(value, _RATES),
    "ratio": three_digits,
    "share": percent,
    "percent": lambda value: f"{three_digits(value)} %",
}


def number(value: float | None, unit: str) -> str:
    """The figure with its unit.

    >>> number(1234.5, "ns"), number(0.25, "share"), number(None, "ns")
    ('1.23 µs', '25.0 %', '–')
    """
    return "–" if value is None else WRITERS[unit](value)


def signed(value: float, unit: str) -> str:
    """A difference with its sign and unit.

    >>> signed(-1536, "bytes"), signed(12000, "count")
    ('−1.50 KiB', '+12,000')
    """
    sign = "−" if value < 0 else "+"
    return f"{sign}{number(abs(value), unit)}" if value else number(0, unit)


def signed_percent(share: float | None) -> str:
    """A relative difference; empty where there is nothing that it could be relative to.

    >>> signed_percent(-0.3141), signed_percent(0.0012), signed_percent(0.0002), signed_percent(39)
    ('−31 %', '+0.1 %', '+<0.1 %', '×40.0')
    """
    if share is None:
        return ""
    if share >= _TIMES_FROM:
        return f"×{count(1 + share) if share > 999 else three_digits(1 + share)}"
    text = f"{abs(100 * share):.0f} %" if abs(share) >= 0.095 else f"{abs(100 * share):.1f} %"
    return f"{'−' if share < 0 else '+'}{'<0.1 %' if text == '0.0 %' and share else text}"
