# SPDX-License-Identifier: MIT
"""The structs of src/analyze/facts/held.hpp, where their fields are explained.

Written by src/python_module/fields.py at each build, not by hand.
"""

# Annotations are values here: values.py reads the rows by them.

from typing import NamedTuple


class LostSite(NamedTuple):
    """Lost blocks of one stack and type."""

    stack: int
    type: int
    blocks: int
    bytes: int
    direct_blocks: int
    direct_bytes: int
    cycle_blocks: int
    cycle_bytes: int


class Holder(NamedTuple):
    """A variable, stack or mapping, and what would go with it."""

    kind: int
    thread_id: int
    module: str
    symbol: str
    stack: int
    blocks: int
    bytes: int


class HeldSite(NamedTuple):
    """What a holder retains, by the blocks' stack and type."""

    holder: int
    stack: int
    type: int
    blocks: int
    bytes: int
    linked_blocks: int
    table_blocks: int


class HeldWay(NamedTuple):
    """Where the shortest way to a HeldSite begins, and to the nearest of its blocks leads."""

    kind: int
    thread_id: int
    module: str
    symbol: str
    stack: int


class HeldStep(NamedTuple):
    """A block on that way, in its order."""

    held_site: int
    stack: int


class LiveType(NamedTuple):
    """All live blocks by stack and type."""

    stack: int
    type: int
    blocks: int
    bytes: int


class Held(NamedTuple):
    """"""

    is_known: bool
    time_ns: int
    stopped_ns: int
    copies: int
    missed_blocks: int
    blocks: int
    bytes: int
    lost_blocks: int
    lost_bytes: int
    shared_blocks: int
    shared_bytes: int
    interior_blocks: int
    interior_bytes: int
    lost_sites: tuple[LostSite, ...]
    holders: tuple[Holder, ...]
    held_sites: tuple[HeldSite, ...]
    ways: tuple[HeldWay, ...]
    steps: tuple[HeldStep, ...]
    types: tuple[str, ...]
    live: tuple[LiveType, ...]
