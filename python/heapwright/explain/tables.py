# SPDX-License-Identifier: MIT
"""The look of the tables: numbers to the right, the site last and cut to fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from heapwright.explain import look
from heapwright.explain.report import Answer
from heapwright.model.names import short_name
from heapwright.report import units

if TYPE_CHECKING:
    from heapwright.terminal.columns import Cell

Column = tuple[str, Callable[[Answer], str]]


def plain(
    headers: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    text_columns: Sequence[int] = (),
    left_columns: Sequence[int] = (),
    centred: bool = False,
) -> look.Columns:
    """A table of numbers, none of them ever cut.

    text_columns are aligned to the left, and cut in the middle where there is
    no room; left_columns are never cut.
    """
    return look.Columns(headers, rows, text_columns=text_columns, left_columns=left_columns, centred=centred)


def by_site(
    answer: Answer, columns: Sequence[Column], weight: Callable[[int], str] | None = None
) -> look.Columns | None:
    """The answer's "sites" with the given columns and the site's name last.

    weight: how a path's weight is written in the first column; its share of
    the whole goes to the second.
    """
    sites: list[Answer] = answer["sites"]
    if not sites:
        return None
    headers = [header for header, _ in columns] + ["call site"]
    rows = []
    for site in sites:
        rows.append([text(site) for _, text in columns] + [site["name"]])
        if weight is not None:
            rows += _path_rows(site, len(columns), weight)
        rows += _stack_rows(site, len(columns))
    return plain(headers, rows, text_columns=(len(columns),))


class _Named(NamedTuple):
    """A path's figures, and the callers that are not in a row above."""

    cells: list[str]
    names: list[str]


def _path_rows(site: Answer, columns: int, weight: Callable[[int], str]) -> list[list[str]]:
    """Callers that several paths begin with in a row of their own, then each path with what is its own."""
    paths = []
    for path in site.get("paths", ()):
        figures = [weight(path["weight"]), units.percent(path["share"] * site["share"], 1)]
        names = [short_name(caller["function"]) for caller in path["callers"]]
        paths.append(_Named(figures + [""] * (columns - 2), names + (["…"] if path["is_cut"] else [])))
    if len(paths) == 1 and site["paths"][0]["share"] > 0.9995:
        paths = [_Named([""] * columns, paths[0].names)]
    return _folded(paths, columns, 1)


def _folded(paths: list[_Named], columns: int, level: int) -> list[list[str]]:
    rows: list[list[str]] = []
    indent = "  " * level
    while paths:
        first = paths[0]
        same = [path for path in paths if path.names[:1] == first.names[:1]]
        paths = [path for path in paths if path not in same]
        if len(same) == 1:
            rows.append([*first.cells, f"{indent}< {' < '.join(first.names)}"])
            continue
        shared = _shared([path.names for path in same])
        rows.append([*[""] * columns, f"{indent}< {' < '.join(first.names[:shared])}"])
        rows += _folded([path._replace(names=path.names[shared:]) for path in same], columns, level + 1)
    return rows


def _shared(paths: Sequence[Sequence[str]]) -> int:
    """How many names all begin with."""
    for number, names in enumerate(zip(*paths, strict=False)):
        if len(set(names)) > 1:
            return number
    return min(map(len, paths))


def _stack_rows(site: Answer, columns: int) -> list[list[str]]:
    names = [frame["name"] for frame in site.get("frames", ())]
    return [[*[""] * columns, f"  < {name}"] for name in names[names[:1] == [site["name"]] :]]
