# SPDX-License-Identifier: MIT
"""The results, in one sentence per part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heapwright.measure import statistics
from heapwright.measure.experiment import Case, Figure, Part
from heapwright.report import units


def result_of(case_record: Mapping[str, Any], allocator: str) -> Mapping[str, Any]:
    """One allocator's result of a case."""
    found: Mapping[str, Any] = next(r for r in case_record["results"] if r["allocator"] == allocator)
    return found


def ranked(case_record: Mapping[str, Any], figure: Figure) -> list[tuple[str, float, int]]:
    """(allocator, median, rank), best first; what failed is left out."""
    rows = [
        (result["allocator"], result["summary"][figure.key]["median"], result["summary"][figure.key]["rank"])
        for result in case_record["results"]
        if figure.key in result["summary"]
    ]
    return sorted(rows, key=lambda row: (row[2], row[1]))


def best_of(case_record: Mapping[str, Any], figure: Figure) -> frozenset[str]:
    """The allocators that the runs show to be best; none without evidence (statistics.marked)."""
    having = [result for result in case_record["results"] if figure.key in result["summary"]]
    return statistics.marked(
        {result["allocator"]: result["summary"][figure.key]["rank"] for result in having},
        {result["allocator"]: result["summary"][figure.key]["runs"] for result in having},
    )


def _names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def value_range(values: Sequence[float], figure: Figure) -> str:
    """From the least to the most."""
    least, most = (units.number(value, figure.unit) for value in (values[0], values[-1]))
    return least if least == most else f"{least} to {most}"


def _by_allocator(case_record: Mapping[str, Any], case: Case, figure: Figure) -> str:
    rows = ranked(case_record, figure)
    if not rows:
        return f"{case.name}: nothing finished"
    best = [name for name, _, _ in rows if name in best_of(case_record, figure)]
    last_name, last, last_rank = rows[-1]
    value = units.number(rows[0][1], figure.unit)
    if min(result_of(case_record, name)["summary"][figure.key]["runs"] for name, _, _ in rows) < 2:
        values = sorted(median for _, median, _ in rows)
        return f"{case.name}: {value_range(values, figure)}; a single run gives no ranking"
    if last_rank == rows[0][2]:
        return f"{case.name}: all are equal within the noise, at {value}"
    ratio = max(last, rows[0][1]) / min(last, rows[0][1]) if min(last, rows[0][1]) > 0 else 0
    times = f", {ratio:.3g} times apart" if ratio else ""
    lead = "is best" if len(best) == 1 else "are best"
    last_value = units.number(last, figure.unit)
    return f"{case.name}: {_names(best)} {lead} ({value}), {last_name} is last ({last_value}){times}"


def _by_case(part_record: Mapping[str, Any], figure: Figure) -> str:
    shown = []
    for case in part_record["cases"]:
        rows = ranked(case, figure)
        if rows:
            shown.append(f"{case['name']} {units.number(rows[0][1], figure.unit)}")
    return f"{figure.label}: {', '.join(shown)}"


def seen(part: Part, part_record: Mapping[str, Any]) -> str:
    """The part's first figure: which allocator leads in the first and the last case."""
    figure = part.figures[0]
    if figure.of_load:
        return f"{_by_case(part_record, figure)}; independent of the allocator."
    by_name = {case.name: case for case in part.cases}
    records = part_record["cases"]
    shown = records if len(records) <= 3 else [records[0], records[-1]]
    by_allocator = "; ".join(_by_allocator(record, by_name[record["name"]], figure) for record in shown)
    return " ".join([f"{by_allocator}.", *_compared(part, part_record)])


def _compared(part: Part, part_record: Mapping[str, Any]) -> list[str]:
    """How much longer one case takes than another, and what no case can lose."""
    said = part.comparison
    if said is None:
        return []
    by_name = {case["name"]: case for case in part_record["cases"]}
    sentences = []
    for figure in (figure for figure in part.figures if figure == part.figures[0] or figure.has_own_table):
        fast = {name: median for name, median, _ in ranked(by_name[said.fast], figure) if median > 0}
        slow = {name: median for name, median, _ in ranked(by_name[said.slow], figure)}
        times = {name: slow[name] / fast[name] for name in slow if name in fast}
        first = by_name[said.fast]["results"][0]["allocator"]
        if first not in times:
            continue
        least_times, most_times = min(times.values()), max(times.values())
        others = f", {least_times:.3g} to {most_times:.3g} times by allocator" if len(times) > 1 else ""
        sentences.append(
            f"{figure.label.capitalize()}: {said.slow} takes {times[first]:.3g} times as long"
            f" as {said.fast} on {first}{others}."
        )
        least = {name: median for name, median, _ in ranked(by_name[said.least], figure)}
        if figure == part.figures[0] and first in least:
            whole, rest = (units.number(x, figure.unit) for x in (fast[first], least[first]))
            most = slow[first] / least[first]
            sentences.append(
                f"Of the {whole} of {said.fast} on {first}, {said.least} is {rest}:"
                f" the largest possible gain is {most:.3g} times."
            )
    return sentences


def noise_of(part_record: Mapping[str, Any], figure: Figure) -> float:
    """The largest noise floor of the part's cases."""
    return max((case["noise"].get(figure.key, 0.0) for case in part_record["cases"]), default=0.0)
