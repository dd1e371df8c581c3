# SPDX-License-Identifier: MIT
"""The picture of call paths on the page of a comparison."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from heapwright.cli import run_command
from heapwright.compare import icicle
from heapwright.compare.document import Comparison, Side
from heapwright.compare.icicle import Box
from heapwright.compare.recorded import Run
from test_compare_document import made

Paths = dict[tuple[str, ...], float]
BOX = re.compile(
    r"<g><title>(.*?)\n(.*?)</title><rect x=\"([\d.]+)\" y=\"(\d+)\" width=\"([\d.]+)\" [^>]*class=\"(.*?)\">",
    re.S,
)


def side(*runs: Paths, load: float = 1) -> Side:
    return Side((), "", "shop", "", "", tuple(Run({}, {}, 1, 1, load, True, {"calls": run}) for run in runs))


def tree(a: Side, b: Side, *sites: dict[str, Any]) -> Box:
    return icicle.tree(Comparison(a, b, "", ()), {"sites": list(sites)}, "calls")


def as_dict(box: Box) -> dict[str, Any]:
    return {name: (inner.a, inner.b, as_dict(inner)) for name, inner in box.inner.items()}


def test_paths_of_both_sides_are_one_tree() -> None:
    root = tree(
        side({("main", "parse"): 30, ("main", "load"): 10}),
        side({("main", "parse"): 60, ("main", "save"): 5}),
    )
    assert (root.name, root.a, root.b) == ("main", 40, 65)
    assert as_dict(root) == {"parse": (30, 60, {}), "load": (10, 0, {}), "save": (0, 5, {})}


def test_a_renamed_function_is_one() -> None:
    root = tree(
        side({("main", "old", "leaf"): 3}),
        side({("main", "new", "leaf"): 3, ("main",): 1}),
        {"state": "renamed", "was": "old", "name": "new"},
    )
    assert as_dict(root) == {"new": (3, 3, {"leaf": (3, 3, {})})}


def test_medians_by_load() -> None:
    root = tree(side({("f",): 10}, {("f",): 30}, {("g",): 5}, load=10), side({("f",): 4}))
    assert as_dict(root) == {"f": (1, 4, {}), "g": (0, 0, {})}


def test_boxes_are_as_wide_as_both() -> None:
    root = tree(side({("a",): 10, ("b",): 20}), side({("a",): 10, ("c",): 40, ("d",): 0.01}))
    boxes = {name: rest for name, *rest in BOX.findall(icicle.drawn(root, "count"))}
    assert boxes["all"] == ["A 30, B 50: +20", "0.0", "0", "1000.0", "more"]
    assert boxes["c"] == ["A 0, B 40: +40", "0.0", "22", "499.9", "more strong"]
    assert boxes["a"] == ["A 10, B 10: +0", "499.9", "22", "250.0", "same"]
    assert boxes["b"] == ["A 20, B 0: −20", "749.9", "22", "250.0", "less strong"]
    assert "d" not in boxes


def test_a_deep_path_ends() -> None:
    root = tree(side({tuple(f"f{depth}" for depth in range(500)): 1, ("g",): 1}), side({("g",): 2}))
    assert icicle.drawn(root, "count").count("<rect") == 42


def page(tmp_path: Path, a_build: str, b_build: str) -> str:
    a = made(20, build=a_build).write(tmp_path / "a.heapwright")
    b = made(20, extra=30, build=b_build).write(tmp_path / "b.heapwright")
    file = tmp_path / "page.html"
    assert run_command(["compare", str(a), str(b), "--html", str(file)]) == 0
    return file.read_text(encoding="utf-8")


def test_the_page_has_what_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    boxes = {name: said for name, said, *_ in BOX.findall(page(tmp_path, "aa", "aa"))}
    assert boxes == {
        "server+0x3000": "A 20, B 50: +30",
        "server+0x2000": "A 0, B 30: +30",
        "server+0x1000": "A 20, B 20: +0",
    }
    capsys.readouterr()


def test_places_of_another_build_say_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    boxes = {name: said for name, said, *_ in BOX.findall(page(tmp_path, "aa", "bb"))}
    assert boxes == {"server (no symbols)": "A 20, B 50: +30"}
    capsys.readouterr()


def test_without_a_difference_there_is_no_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same = made(20).write(tmp_path / "a.heapwright")
    file = tmp_path / "page.html"
    assert run_command(["compare", str(same), str(same), "--html", str(file)]) == 0
    assert "<svg" not in file.read_text(encoding="utf-8")
    capsys.readouterr()
