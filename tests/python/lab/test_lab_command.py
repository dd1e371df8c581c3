# SPDX-License-Identifier: MIT
"""heapwright lab as users type it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from heapwright.cli import run_command
from lab_runs import faulty


def test_without_a_name_it_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["lab"]) == 0
    output = capsys.readouterr().out
    assert "buffer-cache" in output
    assert "glibc" in output


def test_json_is_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["lab", "shared", "--on", "glibc", "--runs", "1", "--scale", "0.001", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "heapwright.lab/1"
    assert document["machine"]["cpus"] > 0
    assert [e["name"] for e in document["experiments"]] == ["shared"]


def test_the_table_marks_the_best_and_says_what_to_type_next(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run_command(
            ["lab", "free-cost", "--on", f"glibc,{faulty}/slow.so", "--runs", "3", "--scale", "0.005"]
        )
        == 0
    )
    captured = capsys.readouterr()
    assert "★" in captured.out
    assert "slow" in captured.out
    assert "next: " in captured.err


def test_parameters_can_be_changed(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["lab", "shared", "--on", "glibc", "--runs", "1", "--no-pin", "--set", "objects=500", "--json"]
    assert run_command(words) == 0
    assert json.loads(capsys.readouterr().out)["parameters"] == {"objects": "500"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["latnecy"], "no experiment latnecy; did you mean latency?"),
        (["arena", "--on", "jemaloc"], "no allocator jemaloc; did you mean jemalloc?"),
        (["arena", "--on", "/no/such.so"], "no such file: /no/such.so"),
        (["arena", "--runs", "-1"], "--runs takes 1 to 100"),
        (["arena", "--scale", "0"], "--scale takes a number above 0"),
        (["arena", "--seed", "-3"], "--seed takes a whole number"),
        (["arena", "--limit", "0"], "--limit takes seconds"),
        (["arena", "--set", "objects"], "--set takes NAME=VALUE"),
        (["all", "--set", "objects=1"], "--set needs one experiment"),
        (["arena", "--pin", "4000"], "not permitted to pin to CPU 4000"),
        (["arena", "--html", "/no/such/folder/lab.html"], "no folder"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["lab", *words]) == 2
    error = capsys.readouterr().err.strip().splitlines()
    assert len(error) == 1
    assert message in error[0]


def test_an_unknown_parameter_names_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["lab", "arena", "--on", "glibc", "--runs", "1", "--set", "object=1"]) == 2
    assert "no parameter --object; this experiment has: " in capsys.readouterr().err


def test_a_crash_is_shown_and_is_exit_code_two(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["lab", "shared", "--on", f"glibc,{faulty}/crashing.so", "--runs", "1", "--scale", "0.01"]
    assert run_command(words) == 2
    captured = capsys.readouterr()
    assert "crashing crashed: SIGSEGV" in captured.err
    assert "crashed" in captured.out


def test_a_page_is_not_replaced_unasked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "lab.html"
    page.write_text("mine")
    assert run_command(["lab", "arena", "--html", str(page)]) == 2
    assert "use --force" in capsys.readouterr().err
    assert page.read_text() == "mine"
