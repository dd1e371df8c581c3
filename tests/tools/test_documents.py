# SPDX-License-Identifier: MIT
"""What the render scripts of bench/ do with a document."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
sys.path.append(str(PROJECT / "bench"))
import documents  # noqa: E402


@pytest.fixture
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(documents, "project", tmp_path)
    return tmp_path / "page.md"


def give(monkeypatch: pytest.MonkeyPatch, document: Path, text: str, *options: str) -> int:
    monkeypatch.setattr(sys, "argv", [str(document.parent / "render.py"), *options])
    return documents.give(document, text)


def test_check_holds_a_document_to_its_results(
    document: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert give(monkeypatch, document, "one\n", "--check") == 1
    assert capsys.readouterr().out == "page.md disagrees with the results: run render.py --write\n"
    assert give(monkeypatch, document, "one\n", "--write") == 0
    assert give(monkeypatch, document, "one\n", "--check") == 0
    assert give(monkeypatch, document, "two\n", "--check") == 1
    assert document.read_text() == "one\n"


def test_without_options_it_is_printed_alone(
    document: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert give(monkeypatch, document, "one\n") == 0
    assert capsys.readouterr().out == "one\n"
    assert not document.exists()
