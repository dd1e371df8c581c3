# SPDX-License-Identifier: MIT
"""The question: which hosts and processes stand apart from others of the same service and version."""

from __future__ import annotations

from typing import Any

from heapwright.fleet.grouping import PROCESS, SITE, percentiles

# What stands apart is so many robust standard deviations from the median of its siblings, and such a share.
APART_DEVIATIONS = 6.0
LEAST_SHARE = 0.1
LEAST_SIBLINGS = 8
# Less is no waste worth a look; bytes, or bytes per second of growth.
LEAST_BYTES = 64 << 10
LEAST_BYTES_PER_S = 1 << 10
# Of a normal distribution, the standard deviation by its median absolute deviation.
_DEVIATION = 1.4826
# Where all siblings are alike, the deviation is 0: the order of rows takes at least this share of the median.
_LEAST_DEVIATION = 0.01

# The figures, by the columns of the tables process and site; sites know nothing of free memory.
_FIGURES = {"peak": "peak_bytes", "growth": "growth_bytes_per_s", "free": "free_bytes"}
_OF_SITES = {"peak": "peak_bytes", "growth": "growth_bytes_per_s"}
_GROUP = ("service", "version", "figure")


def outliers(ibis: Any, tables: dict[str, Any]) -> Any:
    """Hosts, by the median of their processes, and processes far from the median; the furthest first.

    A row is a host and a figure: the whole host stands apart, or some of its processes do.
    """
    each = _figures(ibis, tables["process"])
    hosts = percentiles(ibis, each, (*_GROUP, "host"), "value", {"value": 50}).drop("known")
    process, host = _judged(ibis, each), _judged(ibis, hosts)
    counts = process.group_by(*_GROUP, "host").aggregate(
        processes=process.count(),
        processes_apart=process.is_apart.cast("int64").sum(),
        above=process.more.max(where=process.is_apart),
        below=process.more.min(where=process.is_apart),
        usual_process=process.usual.max(),
        deviation_process=process.deviation.max(),
        siblings_process=process.siblings.max(),
    )
    both = counts.join(host, (*_GROUP, "host"))
    both = both.filter(both.is_apart | (both.processes_apart > 0))
    furthest = ibis.ifelse(both.above >= -both.below, both.above, both.below)
    found = both.select(
        *_GROUP,
        "host",
        "processes",
        is_whole_host=both.is_apart,
        processes_apart=both.processes_apart,
        siblings=ibis.ifelse(both.is_apart, both.siblings, both.siblings_process),
        usual=ibis.ifelse(both.is_apart, both.usual, both.usual_process),
        deviation=ibis.ifelse(both.is_apart, both.deviation, both.deviation_process),
        more=ibis.ifelse(both.is_apart, both.more, furthest),
    )
    found = found.mutate(value=found.usual + found.more)
    first = _first_sites(ibis, tables["site"], process, found)
    keys = (*_GROUP, "host")
    found = found.left_join(first, keys).select(*found.columns, *SITE, "site_more")
    least = ibis.greatest(found.deviation, found.usual.abs() * _LEAST_DEVIATION, 1.0)
    return found.order_by(
        ibis.desc("is_whole_host"),
        ibis.desc(found.more.abs() / least),
        "service",
        "version",
        "host",
        "figure",
    )


def _figures(ibis: Any, process: Any) -> Any:
    """A row for each figure of each process."""
    parts = [
        process.filter(process[column].notnull()).select(
            "service", "version", *PROCESS, figure=ibis.literal(name), value=process[column].cast("float64")
        )
        for name, column in _FIGURES.items()
    ]
    return parts[0].union(*parts[1:])


def _judged(ibis: Any, values: Any) -> Any:
    """With median and deviation of all of the same service, version and figure, and whether it is far off."""
    usual = percentiles(ibis, values, _GROUP, "value", {"usual": 50})
    joined = values.join(usual, _GROUP)
    joined = joined.mutate(more=joined.value - joined.usual)
    joined = joined.mutate(off=joined.more.abs())
    spread = percentiles(ibis, joined, _GROUP, "off", {"spread": 50}).drop("known")
    joined = joined.join(spread, _GROUP)
    joined = joined.mutate(deviation=joined.spread * _DEVIATION, siblings=joined.known)
    least = ibis.ifelse(joined.figure == "growth", float(LEAST_BYTES_PER_S), float(LEAST_BYTES))
    is_apart = (
        (joined.siblings >= LEAST_SIBLINGS)
        & (joined.off > APART_DEVIATIONS * joined.deviation)
        & (joined.off > LEAST_SHARE * joined.usual.abs())
        & (joined.off >= least)
    )
    return joined.mutate(is_apart=is_apart).drop("known", "spread", "off")


def _first_sites(ibis: Any, site: Any, process: Any, found: Any) -> Any:
    """Of each row the call site that differs most: its mean bytes in the processes that stand apart, less
    those in all others."""
    keys = (*_GROUP, "host")
    of_host = found.filter(found.figure.isin(list(_OF_SITES))).select(*keys, "is_whole_host")
    apart = process.join(of_host, keys)
    apart = apart.filter(apart.is_whole_host | apart.is_apart).select(*_GROUP, *PROCESS)
    numbers = apart.group_by(*keys).aggregate(apart_processes=apart.count())
    groups = process.group_by(*_GROUP).aggregate(all_processes=process.count())
    numbers = numbers.join(groups, _GROUP)
    versions = apart.select("service", "version").distinct()
    site = site.mutate(**{name: site[name].fill_null("") for name in SITE})
    site = site.semi_join(versions, ["service", "version"])
    total = site.group_by("service", "version", *SITE).aggregate(**_sums(site, "in_all_"))
    there = site.join(apart, ("service", "version", *PROCESS))
    there = there.group_by(*keys, *SITE).aggregate(**_sums(there, "in_apart_"))
    sites = there.join(total, ("service", "version", *SITE)).join(numbers, keys)
    sites = sites.mutate(
        in_apart=_by_figure(ibis, sites, "in_apart_"), in_all=_by_figure(ibis, sites, "in_all_")
    )
    rest = sites.all_processes - sites.apart_processes
    sites = sites.filter(rest > 0)
    sites = sites.mutate(
        site_more=sites.in_apart / sites.apart_processes
        - (sites.in_all - sites.in_apart) / (sites.all_processes - sites.apart_processes)
    )
    order = ibis.window(group_by=list(keys), order_by=[ibis.desc(sites.site_more.abs()), *SITE])
    ranked = sites.mutate(place=ibis.row_number().over(order).cast("int64"))
    return ranked.filter(ranked.place == 0).select(*keys, *SITE, "site_more")


def _sums(site: Any, prefix: str) -> dict[str, Any]:
    return {f"{prefix}{name}": site[column].sum().cast("float64") for name, column in _OF_SITES.items()}


def _by_figure(ibis: Any, table: Any, prefix: str) -> Any:
    first, second = _OF_SITES
    return ibis.ifelse(table.figure == first, table[f"{prefix}{first}"], table[f"{prefix}{second}"])
