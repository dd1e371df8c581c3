# SPDX-License-Identifier: MIT
"""The question: what each remedy would return in sum, as replays have measured it."""

from __future__ import annotations

from typing import Any

from heapwright.explain.replayed import BOUND, MEASURED, REFUTED


def remedies(ibis: Any, tables: dict[str, Any]) -> Any:
    """Sums over the processes in which a replay confirmed the remedy; bounds that none has judged stand
    apart. Most measured bytes first."""
    remedy = tables["remedy"]
    is_bound = remedy.judged == BOUND
    found = remedy.group_by("service", "kind", "what").aggregate(
        measured_processes=_number(remedy, MEASURED),
        measured_bytes=remedy.measured_bytes.sum(),
        measured_ns=remedy.measured_ns.sum(),
        refuted_processes=_number(remedy, REFUTED),
        bound_processes=_number(remedy, BOUND),
        bound_bytes=remedy.bound_bytes.sum(where=is_bound),
        bound_ns=remedy.bound_ns.sum(where=is_bound),
    )
    return found.order_by(
        ibis.desc("measured_bytes", nulls_first=False),
        ibis.desc("measured_ns", nulls_first=False),
        ibis.desc("bound_bytes", nulls_first=False),
        "service",
        "kind",
        "what",
    )


def _number(remedy: Any, judged: str) -> Any:
    """Each process has a remedy once: its rows are its processes."""
    return (remedy.judged == judged).sum().fill_null(0)
