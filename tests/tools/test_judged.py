# SPDX-License-Identifier: MIT
"""The verdicts on remedies that were tried (bench/judged/figures.py)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
found = importlib.util.spec_from_file_location("judged_figures", project / "bench/judged/figures.py")
assert found is not None and found.loader is not None
figures: Any = importlib.util.module_from_spec(found)
found.loader.exec_module(figures)


def runs(cpu: float, memory: float) -> dict[str, Any]:
    return {
        name: {"median": middle, "low": middle * 0.99, "high": middle * 1.01}
        for name, middle in (("cpu_ns", cpu), ("memory_bytes", memory))
    }


@pytest.mark.parametrize(
    ("tried", "after", "rules", "verdict"),
    [
        ("setting", (50, 100), [], figures.RIGHT),
        ("setting", (100, 50), [], figures.RIGHT),
        ("setting", (180, 100), [], figures.SLOWER),
        ("setting", (98, 98), [], figures.NO_EFFECT),
        ("code", (50, 100), ["arena"], figures.RIGHT),
        ("code", (50, 100), ["node_pool"], figures.MISSED_ONE),
        ("code", (99, 100), ["node_pool"], figures.NOTHING),
        ("MALLOC_ARENA_MAX=1", (70, 100), ["arena"], figures.MISSED_ONE),
        ("MALLOC_ARENA_MAX=1", (70, 200), [], figures.NOTHING),
        ("MALLOC_ARENA_MAX=1", (90, 90), [], figures.NOTHING),
        ("MALLOC_ARENA_MAX=1", (90, 90), ["arena"], figures.NOT_TRIED),
    ],
)
def test_what_became_of_a_remedy(tried: str, after: tuple[int, int], rules: list[str], verdict: str) -> None:
    case = {
        "rule": "arena",
        "said": {"text": "", "rules": rules},
        "before": runs(100, 100),
        "after": {tried: runs(*after)},
    }
    assert figures.verdict(case)[0] == verdict
