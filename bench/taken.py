# SPDX-License-Identifier: MIT
"""What is taken of a raw results file: functions from the raw value to the kept one, to be put together.

TAKEN of bench/*/figures.py is written with them; bench/pack.py applies it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from heapwright.measure.statistics import noise_of

Take = Callable[[Any], Any]


class Figure(dict[str, float]):
    """Statistics of one figure's runs, by name."""


def figure(*names: str) -> Take:
    """Of the values of one figure's runs: these of the statistics below; not for an empty list."""
    return lambda values: Figure({name: STATISTICS[name](values) for name in names})


def p99(values: Sequence[float]) -> float:
    """The 99th percentile, of values without an order."""
    return sorted(values)[min(len(values) - 1, len(values) * 99 // 100)]


def spread(values: Sequence[float]) -> float:
    """The median distance from the median."""
    middle = median(values)
    return median(abs(value - middle) for value in values)


STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "median": median,
    "spread": spread,
    "low": min,
    "high": max,
    "p99": p99,
    "noise": noise_of,
    "runs": len,
}
counted = figure("median", "low", "high", "runs")


def as_is(value: Any) -> Any:
    """All of it."""
    return value


def fields(kept: Mapping[str, Take], but: Iterable[str] = ()) -> Take:
    """Of an object: these fields as told, `but` not at all, all others as they are."""
    left_out = frozenset(but)

    def take(value: Mapping[str, Any]) -> dict[str, Any]:
        return {key: kept.get(key, as_is)(one) for key, one in value.items() if key not in left_out}

    return take


def only(*names: str) -> Take:
    """Of an object: these fields alone."""
    return lambda value: {name: value[name] for name in names if name in value}


def each(take: Take) -> Take:
    """Of an array or an object: of each element the same."""

    def taken(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: take(one) for key, one in value.items()}
        return [take(one) for one in value]

    return taken


def merged(found: Sequence[Any], take: Take) -> Any:
    """The runs' values of one field: figures, or of objects each field's; what all agree on otherwise."""
    if not found:
        return {}
    first = found[0]
    if isinstance(first, Mapping):
        names = dict.fromkeys(name for one in found for name in one)
        return {name: merged([one[name] for one in found if name in one], take) for name in names}
    if isinstance(first, int | float) and not isinstance(first, bool):
        return take(found)
    return first if all(one == first for one in found) else found


def grouped(*keys: str, but: Iterable[str] = (), take: Take = counted) -> Take:
    """Of an array of runs: an object by the keys' values, whose innermost objects have the other
    fields' figures; without what numbers the turns.
    """
    left_out = {*keys, *but, "turn", "round", "repetition"}

    def taken(runs: Sequence[Mapping[str, Any]], depth: int = 0) -> Any:
        if depth == len(keys):
            return merged([{k: v for k, v in run.items() if k not in left_out} for run in runs], take)
        groups: dict[str, list[Mapping[str, Any]]] = {}
        for run in runs:
            groups.setdefault(str(run[keys[depth]]), []).append(run)
        return {name: taken(of, depth + 1) for name, of in groups.items()}

    return taken
