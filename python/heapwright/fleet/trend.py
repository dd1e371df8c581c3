# SPDX-License-Identifier: MIT
"""The question: what processes of a service hold and waste, by day and version."""

from __future__ import annotations

from typing import Any

from heapwright.fleet.grouping import percentiles

_BY = ("service", "version", "date")
# The prefix of the answer's columns, of the process's.
FIGURES = {"peak": "peak_bytes", "growth": "growth_bytes_per_s", "slack": "slack_bytes", "free": "free_bytes"}


def trend(ibis: Any, tables: dict[str, Any]) -> Any:
    """Median and 95th percentile over the processes of a day; each service's latest day first."""
    process = tables["process"]
    found = process.group_by(*_BY).aggregate(
        processes=process.count(), incomplete=(~process.is_whole).sum().fill_null(0)
    )
    for figure in FIGURES.values():
        names = {f"median_{figure}": 50, f"p95_{figure}": 95}
        one = percentiles(ibis, process, _BY, figure, names).drop("known")
        found = found.left_join(one, _BY).select(*found.columns, *names)
    return found.order_by("service", ibis.desc("date"), ibis.desc("processes"), "version")
