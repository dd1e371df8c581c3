# SPDX-License-Identifier: MIT
"""What the room shows: trees whose nodes are made when they are opened."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, Protocol


class Place(NamedTuple):
    """Where a node is in the sources. file: "" = not known; line: 0 = several, or not known."""

    file: str = ""
    line: int = 0
    module: str = ""


class Node(Protocol):
    """One line. The weights of inner() add up to at most its own; the rest is its own doing."""

    @property
    def key(self) -> Hashable:
        """The same for the same thing under any measure; unique beside its siblings."""

    @property
    def name(self) -> str:
        """In few words."""

    @property
    def whole_name(self) -> str:
        """In full."""

    @property
    def place(self) -> Place:
        """Its source line."""

    @property
    def weight(self) -> int:
        """Of the measure asked for."""

    def inner(self) -> Sequence[Node]:
        """The nodes below it; cheap when asked again."""


class Measure(NamedTuple):
    """What a tree sums."""

    name: str
    about: str


class Trees(Protocol):
    """The same things summed by several measures, from several ends."""

    @property
    def title(self) -> str:
        """Of what they are."""

    @property
    def measures(self) -> Sequence[Measure]:
        """At least one."""

    @property
    def ends(self) -> Sequence[str]:
        """Where a tree may begin; at least one."""

    def root(self, measure: str, end: str, text: str) -> Node:
        """The whole; text: only what has it in some name, whatever the case; "" = everything."""

    def written(self, measure: str, weight: int) -> str:
        """A figure with its unit."""


class SpanError(Exception):
    """What is wrong with a span of time, in one line."""


# The trees of a span of time, as the user typed it: from, and until. "" = all of it. SpanError.
Within = Callable[[str], Trees]
