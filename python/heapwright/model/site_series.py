# SPDX-License-Identifier: MIT
"""What sites held over time, row by row."""

# Annotations are values here: compiling them from text for each NamedTuple field takes half the import time.

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from heapwright.model.facts import Facts


class SiteCourse(NamedTuple):
    """What a site held at the end of each bin; not known before first_bin."""

    site: int
    first_bin: int
    live_bytes: Sequence[int]
    live_usable_bytes: Sequence[int]
    live_blocks: Sequence[int]


def courses_of(facts: Facts) -> Iterator[SiteCourse]:
    """Series of the sites that ever held much, in no order."""
    bins = len(facts.series_end_ns)
    held = [facts.series_moments[name] for name in SiteCourse._fields[2:]]
    for place, row in enumerate(facts.series_rows):
        yield SiteCourse(
            row.site, row.first_bin, *(column[place * bins : (place + 1) * bins] for column in held)
        )
