# SPDX-License-Identifier: MIT
"""Questions about a fleet, written once: Ibis generates SQL for DuckDB or Spark."""

from __future__ import annotations

from typing import Any

from heapwright.fleet.grouping import SITE, processes_of
from heapwright.fleet.outliers import outliers
from heapwright.fleet.remedies import remedies
from heapwright.fleet.trend import trend

# Significance and relative size of a version's difference, and the number of processes on each side.
SURE_DEVIATIONS = 4.0
LEAST_SHARE = 0.05
LEAST_PROCESSES = 8


def services(ibis: Any, tables: dict[str, Any]) -> Any:
    """What each version of a service holds and wastes, highest peaks first."""
    process = tables["process"]
    sums = ("resident_bytes", "peak_bytes", "slack_bytes", "free_bytes", "left_bytes", "growth_bytes_per_s")
    totals = {name: process[name].sum() for name in sums}
    found = process.group_by("service", "version").aggregate(
        processes=process.count(),
        began_unix_ns=process.started_unix_ns.min(),
        incomplete=(~process.is_whole).sum().fill_null(0),
        **totals,
    )
    return found.order_by(ibis.desc("peak_bytes"), "service", "version")


def sites(ibis: Any, tables: dict[str, Any]) -> Any:
    """What the sites of each service left, and how fast they grow, fastest first."""
    site = tables["site"]
    sums = ("growth_bytes_per_s", "left_bytes", "peak_bytes", "bytes", "allocations")
    totals = {name: site[name].sum() for name in sums}
    found = site.group_by("service", *SITE).aggregate(processes=site.count(), **totals)
    return found.order_by(ibis.desc("growth_bytes_per_s"), ibis.desc("left_bytes"), "service", "function")


def savings(ibis: Any, tables: dict[str, Any]) -> Any:
    """Total savings from the recordings' advice: upper bounds, or lower bounds with is_least."""
    saving = tables["saving"]
    found = saving.group_by("service", "rule", "action", "is_least").aggregate(
        processes=processes_of(saving),
        gain_bytes=saving.gain_bytes.sum(),
        gain_ns=saving.gain_ns.sum(),
    )
    return found.order_by(ibis.desc("gain_bytes"), ibis.desc("gain_ns"), "service", "rule")


def regressions(ibis: Any, tables: dict[str, Any]) -> Any:
    """Sites with more at a process's peak than in the previous version, by SURE_DEVIATIONS errors."""
    both = _means(tables["site"], _versions(ibis, tables["process"]))
    # Window functions instead of a self-join, which would read thousands of files twice.
    earlier = ibis.window(group_by=["service", *SITE], order_by="rank")
    both = both.mutate(
        rank_before=both.rank.lag().over(earlier),
        mean_before=both.mean_bytes.lag().over(earlier),
        square_before=both.error_square.lag().over(earlier),
    )
    # A new site had 0 in all processes of the previous version.
    was_there = both.rank_before == both.rank - 1
    both = both.mutate(
        mean_before=ibis.ifelse(was_there, both.mean_before, 0.0).fill_null(0.0),
        square_before=ibis.ifelse(was_there, both.square_before, 0.0).fill_null(0.0),
    )
    error = (both.error_square + both.square_before).sqrt()
    more = both.mean_bytes - both.mean_before
    is_sure = (more > SURE_DEVIATIONS * error) & (more > LEAST_SHARE * both.mean_before)
    is_enough = (both.processes >= LEAST_PROCESSES) & (both.processes_before >= LEAST_PROCESSES)
    found = both.filter(is_sure & is_enough).select(
        "service",
        *SITE,
        "version_before",
        "version",
        bytes_before=both.mean_before,
        bytes=both.mean_bytes,
        more_bytes=more,
        error_bytes=error,
        processes_before=both.processes_before,
        processes=both.processes,
    )
    return found.order_by(ibis.desc("more_bytes"), "service", "function")


def incomplete(ibis: Any, tables: dict[str, Any]) -> Any:
    """The number of recordings, and of those with missing calls, whose sums are too low."""
    process = tables["process"]
    return process.aggregate(processes=process.count(), incomplete=(~process.is_whole).sum().fill_null(0))


def _versions(ibis: Any, process: Any) -> Any:
    """The versions of each service by their first process, with process counts and the previous version."""
    found = process.group_by("service", "version").aggregate(
        processes=process.count(), began_unix_ns=process.started_unix_ns.min()
    )
    by_time = ibis.window(group_by="service", order_by=["began_unix_ns", "version"])
    return found.mutate(
        rank=ibis.row_number().over(by_time).cast("int64"),
        version_before=found.version.lag().over(by_time),
        processes_before=found.processes.lag().over(by_time),
    )


def _means(site: Any, versions: Any) -> Any:
    """A site's bytes at a process's peak: the mean over all processes of the version, and its squared error.
    A process without the site has 0 there."""
    peak = site.peak_bytes.cast("float64")
    sums = site.group_by("service", "version", *SITE).aggregate(total=peak.sum(), squares=(peak * peak).sum())
    joined = sums.join(versions, ["service", "version"])
    count = joined.processes.cast("float64")
    mean = joined.total / count
    spread = (joined.squares - joined.total * mean).clip(lower=0.0)
    return joined.select(
        "service",
        "version",
        "rank",
        "processes",
        "version_before",
        "processes_before",
        *SITE,
        mean_bytes=mean,
        error_square=spread / (count - 1).clip(lower=1.0) / count,
    )


QUESTIONS = {
    "services": services,
    "trend": trend,
    "outliers": outliers,
    "sites": sites,
    "regressions": regressions,
    "savings": savings,
    "remedies": remedies,
}
# Questions whose rows of each service stand together.
PER_SERVICE = ("trend",)
# Questions with few rows, asked without a limit. With one DuckDB joins the sites of all processes before it
# looks whether any stands apart: 1.2 s for 10,000 processes, 0.2 s without.
_FEW_ROWS = ("outliers",)


def first_rows(name: str, opened: tuple[Any, dict[str, Any]], top: int) -> list[dict[str, Any]]:
    """The first rows of an answer, or of each service in it."""
    found = _first(name, opened, top)
    rows: list[dict[str, Any]] = found.to_pyarrow().slice(0, top if name in _FEW_ROWS else None).to_pylist()
    return rows


def _first(name: str, opened: tuple[Any, dict[str, Any]], top: int) -> Any:
    ibis, _ = opened
    found = QUESTIONS[name](*opened)
    if name in _FEW_ROWS:
        return found
    if name not in PER_SERVICE:
        return found.limit(top)
    # By the answer's own order, which is the service's first.
    order = ibis.window(group_by="service", order_by=[ibis.desc("date"), ibis.desc("processes"), "version"])
    numbered = found.mutate(place=ibis.row_number().over(order).cast("int64"))
    kept = numbered.filter(numbered.place < top)
    return kept.order_by("service", "place").drop("place")


def of_service(opened: tuple[Any, dict[str, Any]], service: str) -> tuple[Any, dict[str, Any]]:
    """The tables with the rows of one service; all of them without a name."""
    ibis, tables = opened
    return (ibis, _OfService(tables, service)) if service else (ibis, tables)


class _OfService(dict[str, Any]):
    """Filtered on first use: a question reads only its own tables."""

    def __init__(self, tables: dict[str, Any], service: str) -> None:
        super().__init__()
        self._tables, self._service = tables, service

    def __missing__(self, name: str) -> Any:
        table = self._tables[name]
        self[name] = table.filter(table.service == self._service)
        return self[name]
