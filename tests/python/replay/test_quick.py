# SPDX-License-Identifier: MIT
"""How many calls a quick check times, by what its runs took."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from heapwright.replay import quick

CALLS = 240_000


def test_what_a_timed_run_takes_tells_how_many_fit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    recorded: Any = SimpleNamespace(change="", name="glibc", environment=dict)
    trace: Any = SimpleNamespace(event_count=CALLS, path="none")
    chosen: Any = SimpleNamespace(candidates=[recorded, recorded, recorded])
    check = quick.Quick(Path("none"), trace, chosen, {}, live_blocks=CALLS // 2)
    check._run_s = 6.0  # of a run for memory, which reads it at many marks
    assert check._timed_calls(3, CALLS, 1) is None
    monkeypatch.setattr(quick, "run_for_document", lambda *_: cast("dict[str, Any]", {"calls_ns": 1}))
    check._time_one(tmp_path, recorded)
    assert check._timed_calls(3, CALLS, 1) == 0, "all of them"
