# SPDX-License-Identifier: MIT
"""Recordings of a program before and after a change, beside each other."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import Record, collector, programs, project
from heapwright.cli import run_command, schemas

ROWS = 500


@pytest.fixture(autouse=True)
def _use_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEAPWRIGHT_BIN", str(collector.parent))


def compared(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    capsys.readouterr()
    assert run_command(["compare", *map(str, words), "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def sites(document: dict[str, Any]) -> dict[str, tuple[str, float]]:
    """State and difference in calls without namespaces."""
    return {
        site["name"].rpartition("::")[2]: (site["state"], site["figures"]["calls"]["difference"])
        for site in document["sites"]
    }


def totals(document: dict[str, Any], key: str) -> tuple[float, str]:
    row = next(row for row in document["totals"] if row["key"] == key)
    return row["difference"], row["verdict"]


def test_a_rebuilt_program(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    """Lines moved, the file has another name, a helper is inlined: only what changed is told."""
    before = record("compared_before", ROWS).paths()[0]
    after = next(path for path in record("compared_after", ROWS).paths() if path != before)
    document = compared(capsys, before, after)
    assert totals(document, "calls") == (ROWS - 1, "more")
    assert totals(document, "bytes") == (200 * ROWS - 4096, "more")
    assert sites(document) == {"copy_row": ("added", ROWS), "old_index": ("gone", -1)}
    assert document["same_sites"] >= 4


def test_an_inlined_helper_without_debug_information(
    record: Record, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for state in ("before", "after"):
        program = tmp_path / state / "shop"
        program.parent.mkdir()
        strip = ["objcopy", "--strip-debug", str(programs / f"compared_{state}"), str(program)]
        subprocess.run(strip, check=True)
        known = set(files)
        files += [path for path in record(program, ROWS).paths() if path not in known]
    document = compared(capsys, *files)
    assert sites(document) == {"copy_row": ("added", ROWS), "old_index": ("gone", -1)}
    assert document["same_sites"] >= 2


@pytest.mark.parametrize("option", ["--strip-debug", "--strip-all"])
def test_a_build_beside_its_stripped_copy(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The build ids are equal: no call site of the one is new beside the other."""
    whole, stripped = programs / "compared_before", tmp_path / "stripped"
    subprocess.run(["objcopy", option, str(whole), str(stripped)], check=True)
    document = compared(capsys, "--run", f"{whole} {ROWS}", "--run", f"{stripped} {ROWS}", "--runs", "1")
    assert sites(document) == {}
    (note,) = [note for note in document["notes"] if "symbols" in note]
    assert note.startswith("B's program is of the same build with fewer symbols")
    assert "--b-root" in note


def test_the_same_program_twice_does_not_differ(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    program = programs / "compared_before"
    document = compared(capsys, "--run", f"{program} 300", "--run", f"{program} 300", "--runs", "3")
    assert all(row["verdict"] == "same" for row in document["totals"] if row["is_exact"])
    assert {site["state"] for site in document["sites"]} <= {"both"}
    assert [site for site in document["sites"] if site["figures"]["calls"]["verdict"] != "same"] == []


def test_one_allocation_per_row_of_sqlite3_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "rows.sql"
    script.write_text(f".read {project / 'examples/orders.sql'}\nSELECT sum(tag(id)) FROM orders;\n")
    runs = []
    for folder, cost in (("a", "cheap"), ("b", "costly")):  # names of one length: they are kept in blocks
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "row.so").write_bytes((programs / f"row_{cost}.so").read_bytes())
        runs.append(f"sqlite3 :memory: '.load {tmp_path / folder / 'row.so'}' '.read {script}'")
    document = compared(capsys, "--run", runs[0], "--run", runs[1], "--runs", "1")
    assert totals(document, "calls") == (40_000, "more")  # a third of 60,000 orders is deleted
    assert sites(document) == {"tag_row": ("added", 40_000)}
    assert document["sites"][0]["library"] == "row.so"


def test_advice_on_the_old_build_beside_what_the_new_one_gained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """40,000 objects at the peak: a block fewer for each, and a header of 8 bytes with it."""
    program = programs / "advice_make_shared"
    runs = ("--run", f"{program} as_is", "--run", f"{program} fixed", "--runs", "3")
    document = compared(capsys, *runs, "--advice", "--keep", tmp_path / "kept")
    jsonschema.validate(document, schemas.of("compare"))
    (said,) = [row for row in document["advice"] if row["rule"] == "make_shared"]
    assert said["name"].startswith("(anonymous namespace)::site")
    assert (said["calls"]["a"], said["calls"]["b"]) == (800_000, 0)
    held = said["outcomes"]["peak_live_bytes"]
    gained = -totals(document, "peak_live_bytes")[0]
    assert held["is_in_all"]
    assert 0 < gained <= held["said"]
    assert held["outcome"] == "as-said"
    # Nothing was done: nothing was gained, and no bound is broken.
    same = document["a"]["files"]
    sides = [word for side in ("--a", "--b") for file in same for word in (side, file)]
    document = compared(capsys, *sides, "--advice")
    (said,) = [row for row in document["advice"] if row["rule"] == "make_shared"]
    assert {one["outcome"] for one in said["outcomes"].values()} == {"nothing"}
    assert said["calls"]["verdict"] == "same"
