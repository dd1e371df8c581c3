# SPDX-License-Identifier: MIT
"""Documents made from results say whether the measured sources changed since."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[2]
sys.path.append(str(PROJECT / "bench"))
import sources  # noqa: E402


def stamp_of(root: Path, *names: str) -> dict[str, Any]:
    hashes = {name: sources.hash_of(root / name) for name in names}
    return {"sources": {"revision": "abc1234", "hashes": hashes}}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "src/heap/inner").mkdir(parents=True)
    (tmp_path / "src/heap/a.cpp").write_text("one")
    (tmp_path / "src/heap/inner/b.hpp").write_text("two")
    (tmp_path / "one.py").write_text("three")
    return tmp_path


def test_unchanged_sources_are_said_to_be_so(root: Path) -> None:
    (root / "src/heap/notes.md").write_text("no source")
    found = [stamp_of(root, "src/heap", "one.py")]
    (root / "src/heap/notes.md").write_text("still none")
    assert sources.said(found, root) == "Measured at revision abc1234; sources changed since: no."


@pytest.mark.parametrize("change", ["text", "name", "new", "gone"])
def test_a_changed_source_is_named(root: Path, change: str) -> None:
    found = [stamp_of(root, "src/heap", "one.py")]
    source = root / "src/heap/inner/b.hpp"
    if change == "text":
        source.write_text("TWO")
    elif change == "name":
        source.rename(source.with_name("c.hpp"))
    elif change == "new":
        source.with_name("d.cpp").write_text("")
    else:
        source.unlink()
    assert sources.said(found, root) == "Measured at revision abc1234; sources changed since: src/heap."


def test_results_without_hashes_claim_nothing(root: Path) -> None:
    assert "changed since: not known" in sources.said([{}], root)
    assert sources.said([{}, stamp_of(root, "one.py")], root).startswith("Some of these figures were")


def test_all_that_is_measured_exists() -> None:
    for kind, names in sources.measured.items():
        stamp = sources.stamp(kind)
        assert set(stamp["hashes"]) == set(names)
        assert sources.changed(stamp) == []
