# SPDX-License-Identifier: MIT
"""Temporary folders, and those that killed commands have left."""

from __future__ import annotations

from pathlib import Path

import pytest
from heapwright.measure.own_folder import own_folder, remove_left


@pytest.fixture(autouse=True)
def _temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def left_in(folder: Path) -> list[Path]:
    return list(folder.glob("heapwright-*"))


@pytest.mark.parametrize("kind", ["replay", "try"])
def test_what_a_killed_command_left_is_removed(tmp_path: Path, kind: str) -> None:
    left = tmp_path / f"heapwright-{kind}-left"
    left.mkdir()
    (left / "plan-0").write_text("plan")
    (left / "owner").touch()
    other = tmp_path / f"heapwright-{kind}-of-nobody"
    other.mkdir()
    with own_folder(kind) as own:
        remove_left()
        assert sorted(left_in(tmp_path)) == sorted([own, other])
        assert own.is_dir()
    assert left_in(tmp_path) == [other]
