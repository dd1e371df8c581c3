# SPDX-License-Identifier: MIT
"""What a replay measured of a change that advice proposes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from heapwright.report.columns import Choice, Column, Record, record


class ReplayedFigure(NamedTuple):
    """A figure of the changed program beside that of the recording, replayed on the same allocator.

    verdict: better, worse, same (no more than noise and error), or unknown (too few runs).
    """

    label: str
    unit: str
    difference: float
    relative_difference: float
    verdict: str
    on: str


COLUMNS = (
    Column("figure", "text", value="label"),
    Column("unit", Choice(("ns", "bytes"))),
    Column("difference", "signed"),
    Column("relative_difference", "signed"),
    Column("verdict", Choice(("better", "worse", "same", "unknown"))),
    Column("on", "text", about="The allocator."),
)


def records(figures: Iterable[ReplayedFigure]) -> list[Record]:
    """As plain data."""
    return [record(COLUMNS, figure, {}) for figure in figures]
