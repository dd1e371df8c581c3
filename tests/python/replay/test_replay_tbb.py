# SPDX-License-Identifier: MIT
"""Settings of the tbb that is installed do what they say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from heapwright.cli import run_command
from heapwright.measure.allocators import Shelf
from heapwright.measure.errors import MeasureError
from heapwright.replay import settings
from lab_runs import program
from written_traces import FREE, MALLOC, MadeTrace

pytestmark = pytest.mark.full

MIB = 1 << 20
THP = "/sys/kernel/mm/transparent_hugepage/enabled"
RUN = ["--runs", "1", "--idle", "0", "--sites", "0", "--no-pace", "--json"]


@pytest.fixture(autouse=True)
def _needs_tbb() -> None:
    try:
        Shelf(program, [program.parent.parent]).choose(["tbb"])
    except MeasureError:
        pytest.skip("needs libtbbmalloc2")


def trace(tmp_path: Path, *sizes: int) -> str:
    """Rounds of blocks of these sizes."""
    made = MadeTrace().meta("program", "/opt/shop").meta("allocator", "glibc 2.36 (/lib/libc.so.6)")
    for _ in range(10):
        addresses = [(number + 1) << 32 for number in range(len(sizes))]
        for address, size in zip(addresses, sizes, strict=True):
            made.event(MALLOC, address, size)
        for address in addresses:
            made.event(FREE, address)
    return str(made.write(tmp_path / "shop.heapwright"))


def asked(candidate: dict[str, Any], kind: str) -> float:
    if candidate["kernel"]["system_calls"] is None:
        pytest.skip("needs Linux 5.11")
    return float(candidate["kernel"]["system_calls"][kind]["calls"]["median"])


def test_blocks_above_the_threshold_stay_in_the_cache(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = trace(tmp_path, 70 * MIB, 90 * MIB)
    setting = "tbb.huge_size_threshold=8M"
    assert run_command(["replay", file, "--on", "tbb", "--set", setting, *RUN]) == 0
    _, plain, kept = json.loads(capsys.readouterr().out)["candidates"]
    assert kept["name"] == "tbb huge_size_threshold=8M"
    assert asked(plain, "munmap") > 10 + asked(kept, "munmap")
    assert kept["figures"]["end_bytes"]["value"] > 100 * MIB + plain["figures"]["end_bytes"]["value"]


def test_the_grid_is_tried_or_left_out_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["replay", trace(tmp_path, 100), "--on", "tbb", "--search", *RUN]) == 0
    document = json.loads(capsys.readouterr().out)
    names = [candidate["name"] for candidate in document["candidates"]]
    notes = [note for note in document["notes"] if note.startswith("not tried: tbb.huge_pages=1")]
    assert names[1] == "tbb"
    assert len(names[2:]) + len(notes) == len(settings.GRID["tbb"])
    assert not any(candidate["failure"] for candidate in document["candidates"])


def test_huge_pages_are_asked_for_where_they_are(tmp_path: Path) -> None:
    """Seen by tbb and by us alone, the kernel says that it has them: tbb maps them whole then."""
    file, mode = trace(tmp_path, *([2000] * 4000)), tmp_path / "enabled"
    mode.write_text("[always] madvise never\n", encoding="utf-8")
    inside = f'mount --bind "$0" {THP} && exec "$@"'
    own = ["unshare", "--mount", "sh", "-c", inside, str(mode)]
    if not Path(THP).exists() or subprocess.run([*own, "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs root and transparent huge pages")
    words = ["replay", file, "--on", "tbb", "--set", "tbb.huge_pages=1", *RUN]
    command = [*own, sys.executable, "-m", "heapwright", *words]
    said = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert said.returncode == 0, said.stderr
    _, plain, huge = json.loads(said.stdout)["candidates"]
    assert huge["name"] == "tbb huge_pages=1"
    assert asked(huge, "mmap") < asked(plain, "mmap")
