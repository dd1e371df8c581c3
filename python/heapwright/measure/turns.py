# SPDX-License-Identifier: MIT
"""The order of measurements."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Variant = TypeVar("Variant")


def turns(
    rounds: int, items: Iterable[Item], variants: Sequence[Variant]
) -> Iterator[tuple[int, Item, Variant]]:
    """Each round has every variant of every item once, as (round, item, variant).

    The variants' order turns by one each round, so that a slow minute of the machine falls on all of
    them, and none always runs first.
    """
    kept = list(items)
    for number in range(rounds):
        turn = number % len(variants)
        order = [*variants[turn:], *variants[:turn]]
        for item in kept:
            yield from ((number, item, variant) for variant in order)
