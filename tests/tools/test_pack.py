# SPDX-License-Identifier: MIT
"""What bench/pack.py keeps of raw results, and that documents read it as it was."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[2]
sys.path.append(str(PROJECT / "bench"))
import documents  # noqa: E402
import pack  # noqa: E402
from taken import Figure, as_is, counted, each, fields, figure, grouped, only  # noqa: E402

RUNS = [
    {"heap": "a", "threads": 1, "turn": 0, "ns": 5.0, "note": "x"},
    {"heap": "a", "threads": 1, "turn": 1, "ns": 1.0, "note": "x"},
    {"heap": "a", "threads": 1, "turn": 2, "ns": 2.0, "note": "x"},
    {"heap": "b", "threads": 2, "turn": 0, "ns": 4.0, "note": "x", "of": {"calls": 7}},
]


def test_the_statistics_are_those_of_the_runs() -> None:
    kept = figure("median", "spread", "low", "high", "p99", "runs")([5.0, 1.0, 2.0, 9.0, 3.0])
    assert kept == {"median": 3.0, "spread": 2.0, "low": 1.0, "high": 9.0, "p99": 9.0, "runs": 5}
    assert figure("p99")(list(range(200, 0, -1))) == {"p99": 199}


def test_runs_are_grouped_by_their_keys() -> None:
    found = grouped("heap", "threads")(RUNS)
    assert found == {
        "a": {"1": {"ns": {"median": 2.0, "low": 1.0, "high": 5.0, "runs": 3}, "note": "x"}},
        "b": {
            "2": {
                "ns": {"median": 4.0, "low": 4.0, "high": 4.0, "runs": 1},
                "note": "x",
                "of": {"calls": {"median": 7, "low": 7, "high": 7, "runs": 1}},
            }
        },
    }
    assert grouped()([]) == {}
    assert grouped("heap", but=("threads", "note"), take=figure("low"))(RUNS[:3]) == {
        "a": {"ns": {"low": 1.0}}
    }


def test_fields_are_taken_as_told() -> None:
    take = fields({"times": counted, "cases": each(only("name"))}, but=("path",))
    raw = {"times": [1, 3], "cases": {"x": {"name": "n", "more": 1}}, "path": "/p", "rest": [1]}
    assert take(raw) == {
        "times": {"median": 2, "low": 1, "high": 3, "runs": 2},
        "cases": {"x": {"name": "n"}},
        "rest": [1],
    }


def packed(tmp_path: Path, document: Any, take: pack.Take) -> Path:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw/a.json").write_text(json.dumps(document))
    (tmp_path / "kept").mkdir()
    pack.pack(tmp_path / "raw", tmp_path / "kept", "a", take)
    return tmp_path / "kept/a.json"


def test_a_figure_is_an_array_and_reads_as_an_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(
        tmp_path, {"revision": "abc", "ns": [1.5, 2.25, 9], "loads": [1, 2]}, fields({"ns": counted})
    )
    assert json.loads(path.read_text()) == {
        "figures_are": ["median", "low", "high", "runs"],
        "revision": "abc",
        "ns": [2.25, 1.5, 9, 3],
        "loads": [1, 2],
    }
    monkeypatch.setattr(documents, "results", path.parent)
    assert documents.read("a")["ns"] == {"median": 2.25, "low": 1.5, "high": 9, "runs": 3}
    assert documents.read("a")["loads"] == [1, 2]


def test_what_might_be_taken_for_a_figure_is_refused() -> None:
    with pytest.raises(ValueError, match="as long as the figures"):
        pack.in_short({"ns": counted([1.0, 2.0]), "loads": [1, 2, 3, 4]})
    with pytest.raises(ValueError, match="unpack"):
        pack.in_short({"ns": counted([1.0]), "p99": figure("p99")([1.0])})


def test_without_figures_nothing_is_renamed() -> None:
    assert pack.in_short({"loads": [1, 2]}) == {"loads": [1, 2]}


def test_numbers_keep_what_a_document_can_show() -> None:
    kept = pack.rounded({"ns": 111.1451234567, "bytes": 12345678901.0, "spread": 0.123456789, "is": True})
    assert kept == {"ns": 111.1451, "bytes": 12345678901, "spread": 0.12346, "is": True}
    assert isinstance(pack.rounded(Figure({"ns": 1.0})), Figure)


def made_up(chance: random.Random, depth: int) -> Any:
    kind = chance.randrange(4 if depth else 2)
    if kind == 0:
        return chance.choice([None, True, 1.5, -3, 'a \u2192 "b"', "long " * 30])
    if kind == 1:
        return counted([chance.random() for _ in range(3)])
    parts = [made_up(chance, depth - 1) for _ in range(chance.randrange(9))]
    return parts if kind == 2 else {f"key {number}": part for number, part in enumerate(parts)}


def test_the_text_is_json_of_the_same_value() -> None:
    chance = random.Random(7)
    for _ in range(300):
        value = made_up(chance, 4)
        assert json.loads(pack.text_of(value)) == value


def test_the_lines_are_filled() -> None:
    text = pack.text_of({f"row {number}": as_is([number] * 5) for number in range(40)})
    lengths = [len(line) for line in text.splitlines()]
    assert max(lengths) <= pack.width + 1
    assert min(lengths[:-1]) > pack.width - 30
