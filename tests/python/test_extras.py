# SPDX-License-Identifier: MIT
"""What works without the packages of the extras, and what says which one is missing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from written_traces import Command, small_trace

EXTRAS = (
    "textual",
    "ibis",
    "clang",
    "prometheus_client",
    "duckdb",
    "polars",
    "pyarrow",
    "pandas",
)
PHASE_BEGIN, PHASE_END = 88, 89


@pytest.fixture
def without(tmp_path: Path) -> list[tuple[str, str]]:
    """An environment in which importing an extra's package fails as if it were not there."""
    folder = tmp_path / "without"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] in {EXTRAS}:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
    )
    return [("PYTHONPATH", f"{folder}:{os.environ.get('PYTHONPATH', '')}")]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("explain", "{trace}"),
        ("explain", "{trace}", "--json"),
        ("explain", "{trace}", "--top", "3"),
        ("info", "{trace}"),
        ("export", "{trace}", "--to", "pprof", "-o", "-"),
        ("export", "{trace}", "--to", "folded", "-o", "-"),
        ("lab",),
    ],
)
def test_what_needs_no_extra(
    command: Command, trace_file: Path, without: list[tuple[str, str]], arguments: tuple[str, ...]
) -> None:
    line = [part.format(trace=trace_file) for part in arguments]
    if "pprof" not in arguments:  # binary
        said = command(*line, environment=without)
        assert (said.code, bool(said.out), "Traceback" in said.err) == (0, True, False), said.err
    line[-1:] = ["out.pb.gz"] if "pprof" in arguments else line[-1:]
    assert command(*line, environment=without).code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("lint", "--with", "{trace}"), "this needs the package libclang: pip install 'heapwright[lint]'"),
        (("serve", "--once"), "this needs the package prometheus-client: pip install 'heapwright[serve]'"),
        (("sql", "{trace}", "select 1"), "this needs the package duckdb: pip install 'heapwright[sql]'"),
        (
            ("export", "{trace}", "--to", "parquet"),
            "this needs the package duckdb: pip install 'heapwright[sql]'",
        ),
    ],
)
def test_what_needs_one_says_which(
    command: Command,
    trace_file: Path,
    without: list[tuple[str, str]],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    said = command(*[part.format(trace=trace_file) for part in arguments], environment=without)
    assert (said.code, said.out, said.err) == (2, "", f"heapwright: {message}\n")


def test_an_explanation_leaves_out_what_it_cannot_answer(
    command: Command, tmp_path: Path, without: list[tuple[str, str]]
) -> None:
    made = small_trace()
    made.event(PHASE_BEGIN, 0)
    made.event(PHASE_END, 0)
    path = made.write(tmp_path / "phases.heapwright")
    whole = json.loads(command("explain", path, "--json").out)
    said = command("explain", path, "--json", environment=without)
    assert said.code == 0, said.err
    document = json.loads(said.out)
    assert set(whole["questions"]) - set(document["questions"]) == {"phases"}
    assert [note for note in document["summary"]["notes"] if "heapwright[sql]" in note]
