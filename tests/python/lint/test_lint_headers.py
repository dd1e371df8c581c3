# SPDX-License-Identifier: MIT
"""Whose stddef.h libclang is given: an installed clang's, the clang-tidy package's, gcc's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from heapwright.lint import compile as compiling


def headers(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "stddef.h").write_text("")
    return folder


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clang-tidy package as pip unpacks it; the folder of its headers."""
    root = tmp_path / "site"
    (root / "clang_tidy").mkdir(parents=True)
    (root / "clang_tidy/__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(root))
    return headers(root / "clang_tidy/data/lib/clang/18/include")


def roots(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    monkeypatch.setattr(compiling, "_CLANG_ROOTS", tuple(map(str, folders)))


def test_without_a_clang_the_package_has_them(
    tmp_path: Path, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roots(monkeypatch, tmp_path / "none")
    assert compiling.resource_arguments() == (("-resource-dir", str(package.parent)), str(package))


def test_the_nearest_to_libclang_counts_and_of_equals_the_installed_one(
    tmp_path: Path, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers(tmp_path / "lib/llvm-14/lib/clang/14.0.6/include")
    headers(tmp_path / "lib/llvm-99/lib/clang/99/include")
    roots(monkeypatch, tmp_path / "lib")
    assert compiling.resource_arguments()[1] == str(package)
    installed = headers(tmp_path / "lib/llvm-18/lib/clang/18/include")
    assert compiling.resource_arguments()[1] == str(installed)


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc here")
def test_gcc_is_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    roots(monkeypatch, tmp_path)
    monkeypatch.setattr(compiling, "find_spec", lambda _: None)
    arguments, _ = compiling.resource_arguments()
    assert arguments[0] == "-isystem"
    assert (Path(arguments[1]) / "stddef.h").is_file()


def test_where_there_are_none_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    roots(monkeypatch, tmp_path)
    monkeypatch.setattr(compiling, "find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(compiling.CompileError, match="install clang, gcc"):
        compiling.resource_arguments()
