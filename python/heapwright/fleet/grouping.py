# SPDX-License-Identifier: MIT
"""What several questions group and rank by. Whole numbers only: engines then agree to the last digit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SITE = ("function", "file", "library")  # lines move from version to version
PROCESS = ("host", "process", "started_unix_ns")


def processes_of(table: Any) -> Any:
    """The number of processes: a host reuses process ids, but not at the same nanosecond."""
    return (table.host + "/" + table.started_unix_ns.cast("string")).nunique()


def percentiles(ibis: Any, table: Any, by: Sequence[str], value: str, wanted: dict[str, int]) -> Any:
    """By group: the number of known values as "known", and by name the least value that so many percent of
    them do not exceed: one of the values, whatever the engine's own idea of a median."""
    there = table.filter(table[value].notnull())
    rank = ibis.row_number().over(ibis.window(group_by=list(by), order_by=value)).cast("int64") + 1
    ranked = there.mutate(rank=rank, known=there[value].count().over(ibis.window(group_by=list(by))))
    # 100 * rank >= percent * known, for the first time
    chosen = {
        name: ranked[value].min(where=ranked["rank"] * 100 >= ranked.known * percent)
        for name, percent in wanted.items()
    }
    return ranked.group_by(*by).aggregate(known=ranked.known.max(), **chosen)


def prepared(name: str, table: Any) -> Any:
    """A table as the questions read it: of sites, a row for each function of a process, its lines joined."""
    if name != "site":
        return table
    sums = ("allocations", "bytes", "peak_bytes", "left_bytes", "growth_bytes_per_s")
    return table.group_by("service", "version", "date", *PROCESS, *SITE).aggregate(
        **{column: table[column].sum() for column in sums}
    )
