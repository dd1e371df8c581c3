# SPDX-License-Identifier: MIT
"""Which of the C++ parts (docs/parts) answer what stands out."""

from __future__ import annotations

from heapwright.explain.report import Report, share
from heapwright.model import KIND_NAMES

LARGEST_NODE = 512  # node_pool's; above it a request is no node
LEAST_SHARE = 0.1

TEMPORARIES = ("small_vector", "buffer_cache")
ROUNDING_UP = ("node_pool",)
SLOW_FREES = ("deferred_free",)


def of_many_blocks(mean_bytes: float) -> tuple[str, ...]:
    """For one site, or one size, that is asked for over and over."""
    return ("node_pool", "arena") if mean_bytes <= LARGEST_NODE else ("object_pool", "buffer_cache")


def are_usable(report: Report) -> bool:
    """Whether the program is C++: a tenth of its allocations come by operator new."""
    facts = report.facts
    made = sum(row.calls for row in facts.by_kind if KIND_NAMES[row.kind].startswith("operator new"))
    return share(made, facts.totals.allocations) >= LEAST_SHARE
