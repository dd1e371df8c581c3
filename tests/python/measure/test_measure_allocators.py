# SPDX-License-Identifier: MIT
"""Finding allocators and naming them."""

from __future__ import annotations

from pathlib import Path

import pytest
from heapwright.measure.allocators import Shelf
from heapwright.measure.errors import MeasureError
from lab_runs import faulty, program


def test_the_c_library_is_always_there_and_says_its_version(shelf: Shelf) -> None:
    (found,) = shelf.choose(["glibc"])
    assert found.path == ""
    assert found.version[0].isdigit()
    assert "LD_PRELOAD" not in found.environment()


def test_jemalloc_says_its_own_version(shelf: Shelf) -> None:
    (found,) = shelf.choose(["jemalloc"])
    assert found.version.count(".") == 2
    assert found.environment()["LD_PRELOAD"] == found.path


def test_what_is_missing_is_listed_with_what_brings_it() -> None:
    shelf = Shelf(program, library_folders=())
    brought_by = {missing.name: missing.brought_by for missing in shelf.missing()}
    assert brought_by["jemalloc"] == "apt-get install libjemalloc2"
    assert brought_by["tbb"] == "apt-get install libtbbmalloc2"
    assert brought_by["snmalloc-new"] == "make bench-peers"
    with pytest.raises(
        MeasureError, match=r"mimalloc is not installed; run: apt-get install libmimalloc2\.0"
    ):
        shelf.choose(["mimalloc"])


def test_ours_joins_as_soon_as_it_is_built(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libheapwright.so").touch()
    assert Shelf(program, [tmp_path]).files()["heapwright"] == str(tmp_path / "lib/libheapwright.so")
    assert "heapwright" not in Shelf(program).files()


def test_a_wrong_name_gets_the_nearest_one(shelf: Shelf) -> None:
    with pytest.raises(MeasureError, match="no allocator jmalloc; did you mean jemalloc"):
        shelf.choose(["jmalloc"])
    with pytest.raises(MeasureError, match="no allocator zzz; known: glibc"):
        shelf.choose(["zzz"])


def test_any_library_by_path(shelf: Shelf) -> None:
    (found,) = shelf.choose([str(faulty / "slow.so")])
    assert found.name == "slow"


def test_a_path_that_is_no_allocator_is_refused(shelf: Shelf, tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match="cannot be preloaded, or has no malloc"):
        shelf.choose([str(faulty / "nothing.so")])
    text = tmp_path / "text.so"
    text.write_text("no library")
    with pytest.raises(MeasureError, match="cannot be preloaded"):
        shelf.choose([str(text)])
    with pytest.raises(MeasureError, match="no such file"):
        shelf.choose([str(tmp_path / "absent.so")])


def test_the_same_name_twice_runs_once(shelf: Shelf) -> None:
    assert [a.name for a in shelf.choose(["glibc", "glibc"])] == ["glibc"]


def test_a_broken_one_is_left_out_unless_it_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "libjemalloc.so.2").write_text("no library")
    shelf = Shelf(program, library_folders=(str(tmp_path),))
    assert [a.name for a in shelf.choose([])] == ["glibc"]
    assert "cannot be preloaded" in shelf.unusable[0]
    with pytest.raises(MeasureError, match="cannot be preloaded"):
        shelf.choose(["jemalloc"])
