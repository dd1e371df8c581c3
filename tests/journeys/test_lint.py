# SPDX-License-Identifier: MIT
"""A recorded program whose lines say in comments what allocates there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import collector, command, programs, project
from heapwright.cli import run_command

sys.path.append(str(project / "tests/python/lint"))
from lint_sources import CORPUS, wanted

pytestmark = pytest.mark.full

pytest.importorskip("clang.cindex")
ROUNDS = 200
OBJECTS = 200  # of keeps.cpp
Document = dict[str, Any]


def record(folder: Path, name: str) -> Path:
    path = folder / f"{name}.heapwright"
    environment = {**os.environ, "HEAPWRIGHT_BIN": str(collector.parent)}
    line = [command, "record", "--output", path, "--", programs / f"lint_{name}"]
    subprocess.run(line, env=environment, check=True, capture_output=True, timeout=120)
    return path


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("lint"), "shapes")


@pytest.fixture(scope="module")
def keeping(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pool whose objects keep their largest use."""
    return record(tmp_path_factory.mktemp("lint"), "keeps")


def lint(recording: Path, capsys: pytest.CaptureFixture[str], *words: str) -> Document:
    capsys.readouterr()
    assert run_command(["lint", "--json", "--with", str(recording), "--sources", str(CORPUS), *words]) == 0
    document: Document = json.loads(capsys.readouterr().out)
    return document


def matches(words: list[str], finding: dict[str, Any]) -> bool:
    kinds, owners, name = words[0].split("|"), (words[1:2] or ["*"])[0].split("|"), (words[2:3] or ["*"])[0]
    return (
        finding["rule"].removeprefix("heapwright-") in kinds
        and (owners == ["*"] or finding["owner"] in owners)
        and name in ("*", finding["owner_name"])
    )


def by_line_of(document: Document, file: str) -> dict[int, list[dict[str, Any]]]:
    """With the other lines of a member."""
    found: dict[int, list[dict[str, Any]]] = {}
    for finding in document["findings"]:
        for place in (f"{finding['file']}:{finding['line']}", *finding["other_lines"]):
            name, _, line = place.rpartition(":")
            if name == file:
                found.setdefault(int(line), []).append(finding)
    return found


@pytest.mark.parametrize(
    ("program", "file"), [("recording", "shapes.cpp"), ("recording", "shapes.hpp"), ("keeping", "keeps.cpp")]
)
def test_each_line_has_what_its_comment_says(
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], program: str, file: str
) -> None:
    by_line = by_line_of(lint(request.getfixturevalue(program), capsys), file)
    missed = {
        line: (all_words, [(one["rule"], one["owner"], one["owner_name"]) for one in by_line.get(line, [])])
        for line, all_words in wanted(CORPUS / file).items()
        if not all(any(matches(words, one) for one in by_line.get(line, [])) for words in all_words)
    }
    assert missed == {}


def test_figures_are_those_of_the_program(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = lint(recording, capsys)
    counts: Counter[str] = Counter()
    for finding in document["findings"]:
        counts[f"{finding['rule'].removeprefix('heapwright-')} {finding['owner_name']}"] += finding[
            "allocations"
        ]
    assert counts["control-block shared"] == ROUNDS
    assert counts["c-allocation raw"] == ROUNDS
    assert counts["new-object point"] == ROUNDS
    assert counts["vector-growth found"] == 6 * ROUNDS  # 1, 2, 4, 8, 16, 32
    assert counts["new-array numbers"] == ROUNDS
    whole = document["coverage"]
    assert whole["explained"] == sum(finding["allocations"] for finding in document["findings"])
    assert all(finding["allocations"] for finding in document["findings"])  # lines that only release are none
    rest = sum(reason["allocations"] for reason in whole["not_explained"])
    assert whole["allocations"] == whole["explained"] + rest
    assert whole["explained_share"] > 0.95


def test_a_member_that_keeps_its_room_is_one_finding_of_all_its_lines(
    keeping: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    findings = lint(keeping, capsys)["findings"]
    kept, *more = [one for one in findings if one["rule"] == "heapwright-kept-capacity"]
    assert not more
    lines = {place.rpartition(":")[2] for place in (f":{kept['line']}", *kept["other_lines"])}
    assert lines == {
        str(line) for line, ((kind, *_),) in wanted(CORPUS / "keeps.cpp").items() if kind == "kept-capacity"
    }
    assert kept["part"] == "object_pool"
    grown = kept["growing"]
    assert (grown["kind"], grown["blocks_at_end"]) == ("creep", OBJECTS)
    # Most objects have had 20,000 ints in the end, 32,768 where they came one by one; a usual use takes 32.
    assert grown["mean_bytes_at_end"] > 64 * 1024
    assert grown["mean_bytes_at_begin"] < grown["mean_bytes_at_end"]
    by_blocks = (grown["mean_bytes_at_end"] - grown["mean_bytes_at_begin"]) * OBJECTS
    # No more than there is: means are of usable bytes.
    assert kept["gain_bytes"] == pytest.approx(min(by_blocks, kept["live_at_end_bytes"]), rel=0.05)
    # All blocks of the member: each use at most grows it once in a step of a power of two.
    assert kept["allocations"] > OBJECTS
    assert not {"Request::trimmed", "Journal::entries"} & {kept["owner_name"]}


def test_what_is_not_there_is_said(
    recording: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "empty.cpp").write_text("int main() {}\n")
    assert run_command(["lint", "--with", str(recording), "--sources", str(tmp_path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "0 of" not in said
    assert said.startswith("0.0 % of")
    assert "give --sources DIR" in said


def test_only_the_paths_asked_for(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = lint(recording, capsys, str(CORPUS / "shapes.hpp"))
    assert {finding["file"] for finding in document["findings"]} == {"shapes.hpp"}
    assert "not among the paths" in {row["reason"] for row in document["coverage"]["not_explained"]}


def test_an_old_line_is_found_where_the_sources_have_moved(
    recording: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    moved = tmp_path / "programs/lint"
    moved.mkdir(parents=True)
    for name in ("shapes.cpp", "shapes.hpp"):
        (moved / name).write_text((CORPUS / name).read_text())
    capsys.readouterr()
    assert run_command(["lint", "--json", "--with", str(recording), "--sources", str(tmp_path)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["coverage"]["explained_share"] > 0.95
    assert {one["file"] for one in document["findings"]} == {
        f"programs/lint/{name}" for name in ("shapes.cpp", "shapes.hpp")
    }
