# SPDX-License-Identifier: MIT
"""What every table of sites gets besides its figures: distinct names, callers, whole stacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from heapwright.explain import nested_words, site_names
from heapwright.explain.report import Answer, Report, share
from heapwright.explain.site_types import SiteTypes
from heapwright.model import Location
from heapwright.model.call_tree import Callers, heaviest_paths

_PATHS_PER_SITE = 3
_ALLOCATED = ("bytes",)  # what the types of a site are weighed by where its question has no paths


def complete(report: Report, columns: Sequence[str], answer: Answer, types: SiteTypes) -> None:
    """Adds "frames" to the answer's sites where these are whole stacks, otherwise "paths"; and "type".

    columns: of the stacks; their sum is a path's weight; none: no paths.
    """
    records: list[Answer] = answer.get("sites", [])
    if types.are_known:
        types.complete(records, weights(report, columns or _ALLOCATED))
    if report.sites.is_whole:
        for record in records:
            stack = report.trace.stack(report.sites[record["site"]].stack)
            record["frames"] = [location_record(location) for location in stack]
        return
    _tell_apart(report, records)
    if columns:
        _add_paths(report, records, columns)


def location_record(location: Location) -> Answer:
    """A location as plain data."""
    return {
        "function": location.function,
        "file": location.file,
        "line": location.line,
        "library": location.library,
        "name": site_names.location_name(location),
    }


def weights(report: Report, columns: Sequence[str]) -> list[int]:
    """The sum of these columns for each stack."""
    first, *others = (report.facts.stacks[column].tolist() for column in columns)
    for other in others:
        first = [one + two for one, two in zip(first, other, strict=True)]
    return first


def _tell_apart(report: Report, records: Sequence[Answer]) -> None:
    seen = Counter(record["name"] for record in records)
    for record in records:
        if seen[record["name"]] > 1:
            record["name"] = site_names.long_site_name(report.sites[record["site"]])


def _add_paths(report: Report, records: Sequence[Answer], columns: Sequence[str]) -> None:
    stacks: dict[int, list[tuple[int, int]]] = {record["site"]: [] for record in records}
    if not stacks:
        return
    site_of_stack = report.sites.site_of_stack
    for stack, weight in enumerate(weights(report, columns)):
        if weight and site_of_stack[stack] in stacks:
            stacks[site_of_stack[stack]].append((stack, weight))
    tree = report.trace.stack_columns
    callers = Callers(tree["parent"], report.sites.frames, report.sites.locations)
    for record in records:
        site = record["site"]
        is_no_code = report.sites[site].is_no_code  # and so no part of a stack to skip
        root = callers.root(stacks[site], skip=0 if is_no_code else len(report.sites[site].path))
        nearest = callers.of(root)
        record["callers"] = len(nearest)
        record["skip"] = "" if is_no_code else nested_words.skip_of(report, record, record["callers"])
        record["paths"] = [
            {
                "weight": path.weight,
                "share": share(path.weight, root.weight),
                "is_cut": path.is_cut,
                "callers": [location_record(location) for location in path.callers],
            }
            for path in heaviest_paths(callers, root, _PATHS_PER_SITE, nearest)
        ]
