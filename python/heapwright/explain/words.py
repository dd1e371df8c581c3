# SPDX-License-Identifier: MIT
"""Numbers and names as people read them."""

from __future__ import annotations

import re

from heapwright.model.names import short_name
from heapwright.model.sites import Site
from heapwright.model.symbols import Location

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_TIMES = ((10**9, "s"), (10**6, "ms"), (10**3, "µs"), (1, "ns"))


def size(count: int) -> str:
    """Bytes with a binary unit.

    >>> size(1536)
    '1.50 KiB'
    """
    value = float(count)
    for unit in _UNITS:
        # 1023.5 KiB are 1.00 MiB: no unit shows what rounds to the next.
        if abs(value) < (1024 if unit == "B" else 1023.5) or unit == _UNITS[-1]:
            return f"{count} B" if unit == "B" else f"{_three_digits(value)} {unit}"
        value /= 1024
    raise AssertionError


def duration(time_ns: int) -> str:
    """Nanoseconds with a unit.

    >>> duration(1_234_567)
    '1.23 ms'
    """
    if time_ns >= 120 * 10**9:
        minutes, seconds = divmod(time_ns // 10**9, 60)
        return f"{minutes} min {seconds} s"
    for scale, unit in _TIMES:
        if time_ns >= scale * 0.9995:
            return f"{time_ns} ns" if scale == 1 else f"{_three_digits(time_ns / scale)} {unit}"
    return "0 ns"


def count(number: int) -> str:
    """A count with thousands marked, or in millions.

    >>> count(1234567)
    '1.23 M'
    """
    if number >= 999_500_000:
        return f"{_three_digits(number / 10**9)} G"
    if number >= 10**6:
        return f"{_three_digits(number / 10**6)} M"
    return f"{number:,}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """A count of things.

    >>> counted(1, "block"), counted(1200, "block"), counted(0, "address", "addresses")
    ('1 block', '1,200 blocks', '0 addresses')
    """
    return f"{count(number)} {noun if number == 1 else plural or noun + 's'}"


def percent(part: int | float, whole: int | float) -> str:
    """A share; tiny ones are not rounded to nothing.

    >>> percent(1, 3)
    '33.3 %'
    """
    if whole <= 0:
        return "–"
    share = 100 * part / whole
    if 0 < share < 0.1:
        return "<0.1 %"
    return f"{share:.1f} %"


def _three_digits(value: float) -> str:
    if value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def short_file(file: str) -> str:
    """A path's last two parts."""
    parts = re.split(r"/+", file)
    return "/".join(parts[-2:]) if len(parts) > 2 and parts[-3] else file


def where(location: Location) -> str:
    """file:line, or the library, short."""
    if location.file:
        return f"{short_file(location.file)}:{location.line}" if location.line else short_file(location.file)
    return location.library


def location_name(location: Location) -> str:
    """Function and place, short."""
    return _placed(short_name(location.function), where(location))


def site_name(site: Site) -> str:
    """The site in one short line."""
    return " < ".join(map(location_name, site.path))


def long_site_name(site: Site) -> str:
    """The same with all that tells it from any other site."""
    parts = []
    for location in site.path:
        place = f"{location.file}:{location.line} [{location.library}]" if location.file else location.library
        parts.append(_placed(location.function, place))
    return " < ".join(parts)


def _placed(name: str, place: str) -> str:
    return name if not place or name.startswith(f"{place}+") else f"{name}  {place}"
