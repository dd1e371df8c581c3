# SPDX-License-Identifier: MIT
"""Call sites that differ between a candidate and the reference by more than noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from heapwright.model.sites import Site
from heapwright.replay.decision import LEAST_DIFFERENCE


class Sum(NamedTuple):
    """A site's calls or blocks: their number and total."""

    pieces: int = 0
    amount: float = 0.0


Sums = Mapping[int, Sum]


class SiteDifference(NamedTuple):
    """own compared to reference, for the site with this number."""

    number: int
    own: Sum
    reference: Sum
    noise: float

    @property
    def difference(self) -> float:
        """How much more the candidate has."""
        return self.own.amount - self.reference.amount


def total(sums: Sums) -> float:
    return sum(one.amount for one in sums.values())


def relative_noise(reference: Sums, control: Sums) -> float:
    """A share: twice the mean difference of two measurements of the reference, and at least the minimum."""
    apart = sum(abs(one.amount - control.get(number, Sum()).amount) for number, one in reference.items())
    return max(2 * apart / max(total(reference), 1), LEAST_DIFFERENCE)


def differing(own: Sums, reference: Sums, control: Sums) -> list[SiteDifference]:
    """Sites with a difference larger than noise, largest first.

    A site's noise is the difference of the reference's two measurements there, or its share by
    relative_noise() if that is larger.
    """
    found = [one for one in _all(own, reference, control) if abs(one.difference) > one.noise]
    return sorted(found, key=lambda one: -abs(one.difference))


def _all(own: Sums, reference: Sums, control: Sums) -> Iterator[SiteDifference]:
    relative = relative_noise(reference, control)
    for number in dict.fromkeys((*own, *reference)):
        one, before, again = (sums.get(number, Sum()) for sums in (own, reference, control))
        noise = max(abs(before.amount - again.amount), relative * max(before.amount, one.amount))
        yield SiteDifference(number, one, before, noise)


def place_of(site: Site) -> tuple[int, str, str, int, str, str]:
    """The fields of result.Place."""
    location = site.location
    return site.number, location.function, location.file, location.line, location.library, str(site)
