# SPDX-License-Identifier: MIT
"""What a document shows of the summaries in bench/results/, and where: bench/*/figures.py declare it.

A figures.py has TAKEN, what bench/pack.py keeps of each raw results file, and BLOCKS, the parts of
documents that bench/render.py makes from what is kept.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from sources import project as project
from sources import raw as raw
from sources import said as said

bench = project / "bench"
results = bench / "results"


def read(name: str) -> dict[str, Any]:
    """bench/results/NAME.json, whose figures have the names of their statistics."""
    return named(json.loads((results / f"{name}.json").read_text(encoding="utf-8")))


def named(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document that bench/pack.py wrote, with an object for each array that is a figure."""
    names = document.get("figures_are", [])

    def whole(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: whole(one) for key, one in value.items()}
        if not isinstance(value, list):
            return value
        if len(value) == len(names) and all(isinstance(one, int | float) for one in value):
            return dict(zip(names, value, strict=True))
        return [whole(one) for one in value]

    return {key: whole(value) for key, value in document.items() if key != "figures_are"}


def is_there(name: str) -> bool:
    """Whether somebody has measured it."""
    return (results / f"{name}.json").exists()


def read_if_there(name: str) -> dict[str, Any] | None:
    """The summary; None for what nobody has measured."""
    return read(name) if is_there(name) else None


def figures_of(name: str) -> str:
    """The mark of a document's figures: where they are from."""
    return f"<!-- figures: bench/results/{name}.json -->"


def machine_of(result: Mapping[str, Any]) -> str:
    """What it was measured on, and how busy that was."""
    machine = result["machine"]
    virtual = " (virtual)" if machine["is_virtual"] else ""
    return (
        f"{machine['cpu']}{virtual}, {machine['cpus']} CPUs, {machine['libc']}, "
        f"load average {machine['load_average']}"
    )


def load_of(loads: Sequence[float], cpus: int) -> tuple[str, str]:
    """Least and most, and whether others used the machine as well."""
    beside = ": other work ran beside it" if max(loads) > cpus + 1 else ""
    return f"load average {min(loads):.1f} to {max(loads):.1f}", beside


def span_of(figure: Mapping[str, float], places: int) -> str:
    """A packed figure: the median, and its ends in brackets."""
    ends = f"{figure['low']:.{places}f}–{figure['high']:.{places}f}"
    return f"{figure['median']:.{places}f} ({ends})"


@dataclass(frozen=True)
class Block:
    """A part of a document, between two marks that stay; all of it where there are none.

    text: makes the part; it reads the summaries.
    """

    document: str
    text: Callable[[], str]
    begin: str = ""
    end: str = ""

    def put_into(self, before: str) -> str:
        """The document with this part made anew. ValueError: it lacks a mark."""
        if not self.begin:
            return self.text()
        head, begin, rest = before.partition(self.begin)
        _, end, tail = rest.partition(self.end)
        if not begin or not end:
            raise ValueError(f"{self.document} lacks {self.end if begin else self.begin}")
        return f"{head}{begin}{self.text()}{end}{tail}"


def whole(document: str, text: Callable[[], str]) -> Block:
    """A document that is made as a whole."""
    return Block(document, text)


def marked(document: str, name: str, text: Callable[[], str], gap: str = "\n") -> Block:
    """What stands between two marks of this name; gap: between them and the text."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    return Block(document, lambda: f"{gap}{text()}{gap}", begin, end)


def below(document: str, name: str, text: Callable[[], str]) -> Block:
    """What stands below the mark of bench/results/NAME.json."""
    return Block(document, lambda: f"\n{text()}\n", figures_of(name), "<!-- /figures -->")


def folders() -> list[str]:
    """Those of bench/ that declare what a document shows."""
    return sorted(path.parent.name for path in bench.glob("*/figures.py"))


def folder(name: str) -> str:
    """A word of the command line that must be one of them."""
    if name not in folders():
        raise ArgumentTypeError(f"{name} is none of {', '.join(folders())}")
    return name


def declarations(some: Sequence[str] = ()) -> Iterator[ModuleType]:
    """The figures.py of these folders, of all where none is named."""
    for name in some or folders():
        yield load(bench / name / "figures.py")


def load(path: Path) -> ModuleType:
    """A figures.py as a module of its folder's name; it may import what stands beside it."""
    spec = importlib.util.spec_from_file_location(f"figures_of_{path.parent.name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module
