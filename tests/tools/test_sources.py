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

pytestmark = pytest.mark.full


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


def test_comments_and_line_breaks_are_no_change(root: Path) -> None:
    source = root / "src/heap/a.cpp"
    source.write_text(
        '// first\nint one() { return 1; } /* of\ntwo lines */\nchar url[] = "http://a";  // b\n'
    )
    found = [stamp_of(root, "src/heap")]
    source.write_text('int one() {\n  return 1;\n}\n// other words\nchar url[] = "http://a";\n')
    assert sources.said(found, root).endswith("sources changed since: no.")
    source.write_text(source.read_text().replace("//a", "//b"))
    assert sources.said(found, root).endswith("sources changed since: src/heap.")


def test_results_without_hashes_claim_nothing(root: Path) -> None:
    assert "changed since: not known" in sources.said([{}], root)
    assert sources.said([{}, stamp_of(root, "one.py")], root).startswith("Some of these figures were")


def test_all_that_is_measured_exists() -> None:
    for kind, names in sources.measured.items():
        stamp = sources.stamp(kind)
        folders = {name for name in names if not name.endswith(".py")}
        assert folders <= set(stamp["hashes"])
        assert sources.changed(stamp) == []


def test_what_a_module_imports_is_measured_with_it() -> None:
    """The verdict on memory takes the C library's settings from a module of their own."""
    explain = "python/heapwright/explain"
    names = sources.names_of("cause")
    for module in ("cause", "glibc_remedies", "settings", "arenas", "idle_memory", "telling_scan"):
        assert f"{explain}/{module}.py" in names
    assert f"{explain}/advice/private_heap.py" in names, "through a package"
    assert f"{explain}/growth.py" not in names
    assert not [name for name in names if "/report" in name.replace("explain/report", "")], "the form alone"
    assert len(names) == len(set(names))


def test_a_folder_stands_for_its_files() -> None:
    names = sources.names_of("advice")
    assert {"src/analyze", "python/heapwright/explain/advice"} <= set(names)
    assert not [name for name in names if name.startswith("python/heapwright/explain/advice/")]
    assert "python/heapwright/explain/cause_kinds.py" in names
