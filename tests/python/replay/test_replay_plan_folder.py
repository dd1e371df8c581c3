# SPDX-License-Identifier: MIT
"""The folder of a replay's plans, and those that killed replays have left."""

from __future__ import annotations

from pathlib import Path

import pytest
from heapwright.replay.plan_folder import plan_folder, remove_left


@pytest.fixture(autouse=True)
def _temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def left_in(folder: Path) -> list[Path]:
    return list(folder.glob("heapwright-replay-*"))


def test_what_a_killed_replay_left_is_removed(tmp_path: Path) -> None:
    left = tmp_path / "heapwright-replay-left"
    left.mkdir()
    (left / "plan-0").write_text("plan")
    (left / "owner").touch()
    other = tmp_path / "heapwright-replay-of-nobody"
    other.mkdir()
    with plan_folder() as own:
        remove_left()
        assert sorted(left_in(tmp_path)) == sorted([own, other])
        assert own.is_dir()
    assert left_in(tmp_path) == [other]
