# SPDX-License-Identifier: MIT
"""One header made of several: what each #include leaves behind."""

import importlib.util
from pathlib import Path

import pytest

script = Path(__file__).resolve().parents[2] / "tools/amalgamate.py"


def header(name: str, *lines: str) -> tuple[str, str]:
    return f"heapwright/{name}", "\n".join([f"#ifndef {name[0].upper()}", *lines, "#endif", ""])


def test_a_header_within_an_if_stands_at_the_next_include_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = importlib.util.spec_from_file_location("amalgamate", script)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "include", tmp_path)
    (tmp_path / "heapwright").mkdir()
    for name, text in [
        header("part.hpp", '#include "heapwright/maybe.hpp"', '#include "heapwright/name.hpp"', "part"),
        header("maybe.hpp", "#if ANNOTATE", '#include "heapwright/name.hpp"', "#endif"),
        header("name.hpp", "name"),
    ]:
        (tmp_path / name).write_text(text, encoding="utf-8")
    lines = module.lines_of("heapwright/part.hpp", set())
    assert [line for line in lines if line in ("name", "part", "#if ANNOTATE")] == [
        "#if ANNOTATE",
        "name",
        "name",
        "part",
    ]
    assert not [line for line in lines if line.startswith("#include")]
