# SPDX-License-Identifier: MIT
"""Tables of sites: the site's name last and cut to fit, its callers below."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from heapwright.explain import estimates, nested_words, site_types
from heapwright.explain.report import Answer, Report
from heapwright.model import Site, SiteFacts
from heapwright.model.libraries import CONTEXT
from heapwright.model.names import short_name
from heapwright.model.sites import OF_TYPE
from heapwright.report import terminal, units, widgets
from heapwright.report.columns import ASIDE, TEXT, WORD, Column, Table


def _heading(answer: Answer) -> str:
    libraries = {row.get("library") for row in answer.get("sites", ())}
    if CONTEXT in libraries:
        return "context"
    has_types = OF_TYPE in libraries
    return "type, or call site" if has_types else "call site"


_TYPE = Column("type", ASIDE, "type", text=lambda row, _: site_types.in_words(row))
_CALL_SITE = Column("name", TEXT, _heading, text=lambda row, _: row["name"] + nested_words.beside(row))


def sites(
    *columns: Column,
    most: Callable[[SiteFacts], int] | None = None,
    rows: Callable[[Any], Iterable[tuple[Site, Any]]] | None = None,
    key: str = "sites",
    about: str = "",
    title: str = "",
) -> Table:
    """A table of sites: of those with the most of something, or of these rows."""

    def with_most(report: Report) -> Iterable[tuple[Site, Any]]:
        assert most is not None
        return report.top_sites(most)

    return Table(key, columns, rows or with_most, of_sites=True, about=about, title=title)


def size_range(heading: str) -> Column:
    """The column that shows both ends of a class of sizes."""

    def text(row: Answer, _: Answer) -> str:
        return f"{units.size(row['from_bytes'])} – {units.size(row['to_bytes'])}"

    return Column("", WORD, heading, text=text)


def shown(table: Table, answer: Answer, is_sampled: bool) -> widgets.RenderableType | None:
    """The table as text below its title, sampled figures with their intervals; None: nothing to show."""
    found = drawn(table, answer, is_sampled)
    if found is None or not table.title:
        return found
    return widgets.Group(widgets.Text(table.title, style="bold"), found)


def drawn(table: Table, answer: Answer, is_sampled: bool) -> widgets.RenderableType | None:
    """The table as text without its title; None if there is nothing to show."""
    records: list[Answer] = answer[table.key]
    columns = estimates.shown_columns(table.columns) if is_sampled else table.columns
    if not terminal.headed(columns, answer):
        return None
    if not records:
        return widgets.Text("nothing was sampled", style="dim") if columns is not table.columns else None
    if not table.of_sites:
        return terminal.table(columns, records, answer)
    own = (_TYPE, _CALL_SITE) if any(site.get("type") for site in records) else (_CALL_SITE,)
    headed = terminal.headed((*columns, *own), answer)
    rows: list[Sequence[str]] = []
    for site in records:
        rows.append([column.written(site, answer) for column, _ in headed])
        rows += _path_rows(site, len(headed) - 1, lambda weight: units.number(weight, headed[0][0].unit))
        rows += _stack_rows(site, len(headed) - 1)
        rows += _block_rows(site, len(headed) - 1)
    return terminal.of_cells(headed, rows)


class _Named(NamedTuple):
    """A path's figures, and the callers not in a row above."""

    cells: list[str]
    names: list[str]


def _path_rows(site: Answer, columns: int, weight: Callable[[int], str]) -> list[list[str]]:
    """Callers common to several paths in a separate row, then the rest of each path."""
    paths = []
    told_apart = _told_apart([caller for path in site.get("paths", ()) for caller in path["callers"]])
    for path in site.get("paths", ()):
        figures = [weight(path["weight"]), units.percent(path["share"] * site["share"])]
        names = [told_apart[_identity(caller)] for caller in path["callers"]]
        paths.append(_Named(figures + [""] * (columns - 2), names + (["…"] if path["is_cut"] else [])))
    if len(paths) == 1 and site["paths"][0]["share"] > 0.9995:
        paths = [_Named([""] * columns, paths[0].names)]
    return _folded(paths, columns, 1)


_Identity = tuple[str, str, str]


def _identity(caller: Answer) -> _Identity:
    return caller["function"], caller["file"], caller["library"]


def _told_apart(callers: Sequence[Answer]) -> dict[_Identity, str]:
    """Their names, short unless ambiguous (an overload, a static function elsewhere)."""
    groups: dict[str, list[_Identity]] = {}
    for identity in dict.fromkeys(map(_identity, callers)):
        groups.setdefault(short_name(identity[0]), []).append(identity)
    names = {}
    for short, group in groups.items():
        functions = [function for function, _, _ in group]
        for function, file, library in group:
            name = short if len(group) == 1 else function
            place = ", ".join(filter(None, (file, library)))
            is_several = functions.count(function) > 1
            names[function, file, library] = f"{name} [{place}]" if is_several else name
    return names


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
    """How many leading names all have in common."""
    for number, names in enumerate(zip(*paths, strict=False)):
        if len(set(names)) > 1:
            return number
    return min(map(len, paths))


def _stack_rows(site: Answer, columns: int) -> list[list[str]]:
    names = [frame["name"] for frame in site.get("frames", ())]
    return [[*[""] * columns, f"  < {name}"] for name in names[names[:1] == [site["name"]] :]]


def _block_rows(site: Answer, columns: int) -> list[list[str]]:
    """Where the block freed by the row's call was allocated."""
    name = site.get("block_name")
    return [[*[""] * columns, f"  a block from {name}"]] if name else []
