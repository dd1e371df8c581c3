# SPDX-License-Identifier: MIT
"""What bench/parts/figures.py says of rows in which ours is behind, and of the machines."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture
def render(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [*sys.path, str(BENCH)])
    documents = importlib.import_module("documents")
    module: ModuleType = documents.load(BENCH / "parts/figures.py")
    return module


def behind(render: ModuleType, **ns: float) -> list[str]:
    names = {"copy_1000": "copy", "push_1000": "push"}
    lines: list[str] = render.behind_lines({"copy_1000": ns, "push_1000": ns}, names, "ours", ("beside",))
    return lines


def test_a_row_that_is_behind_has_its_reason_whoever_is_best(render: ModuleType) -> None:
    for best in ("std", "boost"):
        lines = behind(render, ours=110.0, **{best: 100.0})
        assert f"- copy: 1.10 × the best ({best}); behind, cause unknown" in lines
        assert f"- push: 1.10 × the best ({best}); {render.reasons['push_1000']}" in lines


def test_rows_within_the_goal_and_what_is_beside_are_not_listed(render: ModuleType) -> None:
    assert behind(render, ours=104.9, std=100.0) == []
    assert behind(render, ours=100.0, std=100.0, beside=10.0) == []
    assert len(behind(render, ours=105.1, std=100.0)) == 5


def test_reasons_name_no_library(render: ModuleType) -> None:
    libraries = ("std", "boost", "abseil", "llvm", "foonathan", "pmr")
    for row, reason in render.reasons.items():
        assert not [name for name in libraries if name in reason.lower()], row


def machine(cpu: str, load: float) -> dict[str, Any]:
    return {"machine": {"cpu": cpu, "cores": 2, "compiler": "g++ 12", "load_before": 0.1, "load_after": load}}


def test_each_results_file_names_its_machine_where_they_differ(render: ModuleType) -> None:
    same = render.machine_lines({"parts-a": machine("one", 0.5), "parts-b": machine("one", 0.7)})
    assert same == ["Machine: 2 cores, one; g++ 12, -O2. Load average 0.1 to 0.7 before and after."]
    lines = render.machine_lines({"parts-a": machine("one", 0.5), "parts-b": machine("two", 0.7)})
    assert "- parts-a: 2 cores, one; g++ 12, -O2" in lines
    assert "- parts-b: 2 cores, two; g++ 12, -O2" in lines
