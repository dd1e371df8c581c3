# SPDX-License-Identifier: MIT
"""The time left of runs, in logs: what took longer before says nothing of other runs."""

from __future__ import annotations

import pytest
from heapwright.cli import runs_progress


def test_other_runs_have_their_own_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now_s = [0.0]
    monkeypatch.setattr(runs_progress.time, "monotonic", lambda: now_s[0])
    lines = runs_progress._Lines()
    for second, done in ((0.0, 0), (20.0, 1), (40.0, 2)):
        now_s[0] = second
        lines("as it is", done, 4)
    for second, done in ((60.0, 0), (71.0, 1), (72.0, 2)):
        now_s[0] = second
        lines("as it is, counted", done, 4)
    assert capsys.readouterr().err.splitlines() == [
        "heapwright: 1 of 4 runs, about 60.0 s left; as it is",
        "heapwright: 2 of 4 runs, about 40.0 s left; as it is",
        "heapwright: 1 of 4 runs, about 33.0 s left; as it is, counted",
    ]
