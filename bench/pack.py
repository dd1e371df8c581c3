#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the summaries in bench/results/ from the raw results that measuring leaves in build/results/.

    pack.py [FOLDER ...]

A summary has the medians, spreads and counts that a document shows, the machine, and the measured
revision with its sources' hashes. What is taken of each results file stands in bench/*/figures.py,
in TAKEN (bench/taken.py). Folders of bench/ may be named, to pack only theirs; a summary without raw
results stays as it is.

A figure is kept as an array of its statistics, which "figures_are" names once for the file.
documents.read gives them their names back.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import documents
from taken import Figure, Take

width = 110  # of a line of a summary
digits = 7  # of a number that is no integer
digits_of_errors = {"spread": 5, "noise": 5}


def figures_in(value: Any) -> Iterator[Figure]:
    """All figures of a document."""
    if isinstance(value, Figure):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from figures_in(one)


def in_short(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with its figures as arrays. ValueError: they have different statistics, or another
    array might be taken for a figure.
    """
    kinds = {tuple(one) for one in figures_in(document)}
    if not kinds:
        return dict(document)
    (names,) = kinds
    found: dict[str, Any] = {"figures_are": list(names), **as_arrays(document)}
    if documents.named(found) != document:
        raise ValueError("an array is as long as the figures")
    return found


def as_arrays(value: Any) -> Any:
    """The figures without their names."""
    if isinstance(value, Figure):
        return list(value.values())
    if isinstance(value, dict):
        return {key: as_arrays(one) for key, one in value.items()}
    return [as_arrays(one) for one in value] if isinstance(value, list | tuple) else value


def rounded(value: Any, name: str = "") -> Any:
    """Numbers as long as they mean something; integers as such."""
    if isinstance(value, float):
        short = float(f"{value:.{digits_of_errors.get(name, digits)}g}")
        return int(value) if value == int(value) and abs(value) < 2**53 else short
    if isinstance(value, dict):
        return type(value)({key: rounded(one, key) for key, one in value.items()})
    return [rounded(one) for one in value] if isinstance(value, list | tuple) else value


def text_of(value: Any, depth: int = 0) -> str:
    """JSON whose lines are filled: what is short stands beside its neighbours."""
    short = json.dumps(value, ensure_ascii=False)
    if depth + len(short) <= width or not isinstance(value, dict | list) or not value:
        return short
    if isinstance(value, list):
        parts, ends = [text_of(one, depth + 1) for one in value], "[]"
    else:
        names = (json.dumps(key, ensure_ascii=False) for key in value)
        both = zip(names, value.values(), strict=True)
        parts, ends = [f"{name}: {text_of(one, depth + 1)}" for name, one in both], "{}"
    inner = "\n" + " " * (depth + 1)
    return f"{ends[0]}{inner.join(filled(parts, width - depth))}{ends[1]}"


def filled(parts: Sequence[str], room: int) -> list[str]:
    """The parts with commas, in lines of at most this room where they are short enough."""
    lines: list[str] = []
    for number, part in enumerate(parts, 1):
        text = part if number == len(parts) else f"{part},"
        before = len(lines[-1].rpartition("\n")[2]) if lines else room
        if "\n" not in text and before + 1 + len(text) < room:
            lines[-1] += f" {text}"
        else:
            lines.append(text)
    return lines


def pack(raw: Path, results: Path, name: str, take: Take) -> None:
    """Writes results/NAME.json from raw/NAME.json."""
    found = json.loads((raw / f"{name}.json").read_text(encoding="utf-8"))
    (results / f"{name}.json").write_text(text_of(in_short(rounded(take(found)))) + "\n", encoding="utf-8")


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", metavar="FOLDER", type=documents.folder)
    modules = list(documents.declarations(parser.parse_args().folders))
    packed = 0
    for name, take in (item for module in modules for item in module.TAKEN.items()):
        if (documents.raw / f"{name}.json").exists():
            pack(documents.raw, documents.results, name, take)
            packed += 1
    print(f"packed {packed} results of {documents.raw.relative_to(documents.project)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
