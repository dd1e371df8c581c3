# SPDX-License-Identifier: MIT
"""A pool whose objects keep their vectors' capacity is told as creep, a cache that fills once as a warm-up."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import command, programs
from heapwright.explain.screen import in_order

PROGRAM = programs / "growing_pool"


def explained(trace: Path, *options: str) -> dict[str, Any]:
    line = [str(command), "explain", str(trace), "--json", *options]
    said = subprocess.run(line, check=True, capture_output=True, timeout=120)
    document: dict[str, Any] = json.loads(said.stdout)
    return document


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, int]:
    """The trace, and the bytes and buffers that the program itself counts."""
    trace = tmp_path_factory.mktemp("pool") / "pool.heapwright"
    line = [str(command), "record", "-o", str(trace), "--", str(PROGRAM)]
    said = subprocess.run(line, check=True, capture_output=True, timeout=120)
    held, buffers = map(int, said.stdout.split())
    return trace, held, buffers


def test_a_pool_that_keeps_capacity_creeps(recorded: tuple[Path, int, int]) -> None:
    trace, held, buffers = recorded
    document = explained(trace)
    sites = document["questions"]["growth"]["sites"]
    pool = next(site for site in sites if "serve" in site["function"])
    assert (pool["kind"], pool["is_sure"]) == ("creep", True)
    assert pool["slope_bytes_per_s"] > 0
    assert pool["bytes_at_end"] == pytest.approx(held, rel=0.02), "the last bin before all is freed"
    assert pool["blocks_at_end"] == buffers
    assert sites[0] == pool, "before the cache, which holds more"
    cache = next(site for site in sites if "fill_cache" in site["function"])
    assert cache["kind"] == "warm-up"
    assert cache["bytes_at_end"] > pool["bytes_at_end"]
    first = in_order(document["summary"]["findings"])[0]["text"]
    assert "capacity creep, or what it builds" in first, "a run of seconds cannot tell"


def test_the_limit_comes_from_its_slope(recorded: tuple[Path, int, int]) -> None:
    growth = explained(recorded[0], "--memory-limit", "1g")["questions"]["growth"]
    left = (1 << 30) - growth["used_bytes"]
    assert growth["used_is_resident"]
    assert growth["to_limit_ns"] == pytest.approx(left / growth["growth_bytes_per_s"] * 1e9, rel=1e-6)
