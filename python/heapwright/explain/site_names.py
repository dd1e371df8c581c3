# SPDX-License-Identifier: MIT
"""Call sites and locations as text."""

from __future__ import annotations

import re

from heapwright.model.names import short_name
from heapwright.model.sites import NOT_OF_CODE, Site
from heapwright.model.symbols import Location


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
    """Function and place, short; of a type all of it, of a context its name."""
    if location.library in NOT_OF_CODE:
        return location.function
    return _placed(short_name(location.function), where(location))


def site_name(site: Site) -> str:
    """The site in one short line."""
    return " < ".join(map(location_name, site.path))


def selector(site: Site) -> str:
    """The site as an argument of `heapwright replay --change`."""
    location = site.location
    name = short_name(location.function)
    return f"{name}@{location.file.rpartition('/')[2]}:{location.line}" if location.file else name


def long_site_name(site: Site) -> str:
    """The site with everything that distinguishes it from other sites."""
    parts = []
    for location in site.path:
        place = f"{location.place} [{location.library}]" if location.file else location.library
        place = "" if place in NOT_OF_CODE else place
        parts.append(_placed(location.function, place))
    return " < ".join(parts)


def _placed(name: str, place: str) -> str:
    return name if not place or name.startswith(f"{place}+") else f"{name}  {place}"
