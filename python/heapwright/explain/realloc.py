# SPDX-License-Identifier: MIT
"""Which buffers grow by realloc, and how much is copied?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from heapwright.explain.question import Question
from heapwright.explain.report import Answer, Report, share
from heapwright.explain.tables import sites
from heapwright.model import Site
from heapwright.report import units
from heapwright.report.columns import Column


def _sum(field: str) -> Callable[[Report, Answer], Any]:
    return lambda report, _: sum(getattr(chain, field) for chain in report.facts.realloc_chains)


def _rows(report: Report) -> Iterator[tuple[Site, Any]]:
    """Most copied bytes first."""
    chains = sorted(report.facts.realloc_chains, key=lambda chain: (-chain.copied_bytes, -chain.steps))
    return ((report.sites[chain.site], chain) for chain in chains[: report.top])


def _gist(answer: Answer) -> str:
    if not answer["chains"]:
        return ""
    buffers, steps = units.counted(answer["chains"], "buffer"), units.counted(answer["steps"], "realloc")
    return f"{units.size(answer['copied_bytes'])} copied as {buffers} grew in {steps}"


# Chains of reallocs, by the site of the last one. advice/reserve.py advises how to avoid them.
QUESTION = Question(
    "realloc",
    "Buffers that grow by realloc",
    (
        Column("chains", value=_sum("chains")),
        Column("steps", value=_sum("steps")),
        Column("copied_bytes", "bytes", value=_sum("copied_bytes")),
    ),
    (
        sites(
            Column("copied_bytes", "bytes", "copied"),
            Column("chains", "count", "buffers"),
            Column("steps", "count", "reallocs"),
            Column("moved_share", "share", "moved", lambda chain, _: share(chain.moved, chain.steps)),
            Column("moved"),
            Column("longest_steps", "count", "longest"),
            Column(
                "mean_final_bytes",
                "bytes",
                "final",
                lambda chain, _: chain.final_bytes // max(1, chain.chains),
            ),
            rows=_rows,
        ),
    ),
    unsampled="knowing how a buffer grew takes each of its reallocs",
    gist=_gist,
)
