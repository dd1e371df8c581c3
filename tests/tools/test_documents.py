# SPDX-License-Identifier: MIT
"""What bench/render.py does with the documents."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
sys.path.append(str(PROJECT / "bench"))
import documents  # noqa: E402
import render  # noqa: E402


@pytest.fixture
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(documents, "project", tmp_path)
    return tmp_path / "page.md"


def test_check_holds_a_document_to_its_results(document: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = (
        render.made([documents.whole("page.md", lambda text=text: text)]) for text in ("one\n", "two\n")
    )
    assert render.give(one, is_writing=False) == 1
    assert capsys.readouterr().out == "page.md disagrees with the results: run bench/render.py --write\n"
    assert not document.exists()
    assert render.give(one, is_writing=True) == 0
    assert render.give(one, is_writing=False) == 0
    assert render.give(two, is_writing=False) == 1
    assert document.read_text() == "one\n"


def test_blocks_of_one_document_leave_the_rest_as_it_is(document: Path) -> None:
    document.write_text(
        "# Head\n<!-- a: begin -->\nold\n<!-- a: end -->\nbetween\n"
        "<!-- figures: bench/results/b.json -->\nold\n<!-- /figures -->\ntail\n"
    )
    blocks = [
        documents.marked("page.md", "a", lambda: "first"),
        documents.below("page.md", "b", lambda: "second"),
    ]
    assert render.made(blocks)[document] == (
        "# Head\n<!-- a: begin -->\nfirst\n<!-- a: end -->\nbetween\n"
        "<!-- figures: bench/results/b.json -->\nsecond\n<!-- /figures -->\ntail\n"
    )


@pytest.mark.parametrize("missing", ["begin", "end"])
def test_a_document_without_a_mark_is_not_cut(document: Path, missing: str) -> None:
    text = "<!-- a: begin -->\nold\n<!-- a: end -->\ntail\n".replace(f"<!-- a: {missing} -->", "")
    document.write_text(text)
    with pytest.raises(ValueError, match=f"lacks <!-- a: {missing} -->"):
        render.made([documents.marked("page.md", "a", lambda: "new")])


def test_every_committed_summary_is_declared_and_only_once() -> None:
    declared = [name for module in documents.declarations() for name in module.TAKEN]
    assert sorted(declared) == sorted(set(declared))
    assert {path.stem for path in documents.results.glob("*.json")} <= set(declared)
