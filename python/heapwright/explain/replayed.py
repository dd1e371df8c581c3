# SPDX-License-Identifier: MIT
"""What a replay measured of a change proposed by advice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from heapwright.report import units
from heapwright.report.columns import Choice, Column, Record, record


class ReplayedFigure(NamedTuple):
    """A figure of the changed program, compared to the recording replayed on the same allocator.

    verdict: better, worse, same (within noise and error), or unknown (too few runs).
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
    """The figures as plain data."""
    return [record(COLUMNS, figure, {}) for figure in figures]


def in_words(figures: Sequence[Record]) -> str:
    """The figures in words; empty without any.

    >>> in_words(records([ReplayedFigure("peak", "bytes", -4096, -0.5, "better", "glibc")]))
    'measured by replay on glibc: peak −50 % (−4.00 KiB)'
    """
    return (
        f"measured by replay on {figures[0]['on']}: {', '.join(map(_in_words, figures))}" if figures else ""
    )


def _in_words(figure: Record) -> str:
    if figure["verdict"] == "same":
        return f"{figure['figure']} as before"
    share = units.signed_percent(figure["relative_difference"])
    text = f"{figure['figure']} {share} ({units.signed(figure['difference'], figure['unit'])})"
    return text if figure["verdict"] != "unknown" else f"{text}, in too few runs to be certain"
