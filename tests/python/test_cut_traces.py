# SPDX-License-Identifier: MIT
"""What is left of a trace, wherever it was cut, has a report; it is called complete only if nothing but the index is gone."""

from __future__ import annotations

from pathlib import Path

import heapwright
import pytest
from heapwright.cli import run_command

WHOLE = Path(__file__).parents[1] / "traces/version-1-sqlite3.heapwright"


def test_a_trace_cut_anywhere_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = WHOLE.read_bytes()
    cut = tmp_path / "cut.heapwright"
    opened = 0
    for length in (*range(0, 300, 20), *range(300, len(content), len(content) // 40)):
        cut.write_bytes(content[:length])
        status = run_command(["explain", str(cut), "--unchecked"])
        said = capsys.readouterr()
        if status == 2:
            assert len(said.err.splitlines()) == 1, f"cut at {length}: {said.err}"
            continue
        assert status == 0, f"cut at {length}: {said.err}"
        opened += 1
        is_whole = heapwright.open(cut).end.reason != "missing"
        assert ("INCOMPLETE RECORDING" in said.out) is not is_whole, f"cut at {length}"
    assert opened > 40
