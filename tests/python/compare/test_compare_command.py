# SPDX-License-Identifier: MIT
"""heapwright compare as users type it."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from heapwright.cli import run_command
from written_traces import BUILD, small_trace


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(small_trace().write(tmp_path / "server.heapwright"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{file}"], "compare takes two recordings, A and B; use --a and --b for several per side"),
        ([], "compare takes two recordings: heapwright compare A.heapwright B.heapwright"),
        (["--a", "{file}"], "compare takes two recordings: heapwright compare A.heapwright B.heapwright"),
        (["{file}", "{file}", "--a", "{file}"], "repeat --a and --b for each file: --a one --a two --b three"),
        (["{file}", "{folder}/empty"], "no recording (*.heapwright) in the folder {folder}/empty"),
        (["{file}", "{folder}/gone"], "no such file: {folder}/gone; heapwright record writes one"),
        (["{file}", "{file}", "--json", "--md"], "--json and --md both write to standard output; choose one"),
        (["{file}", "{file}", "--top", "0"], "--top takes a number of at least 1"),
        (["{file}", "{file}", "--per", "0"], "--per takes a load above 0, A's and B's (1000,2000), or site:SITE, not '0'"),
        (["{file}", "{file}", "--per", "1,2,3"],
         "--per takes a load above 0, A's and B's (1000,2000), or site:SITE, not '1,2,3'"),
        (["{file}", "{file}", "--per", "site:nowhere"],
         "--per: no call site nowhere in the recording; most functions of server have no names here: it is stripped, "
         "or was built anew (server.heapwright)"),
        (["{file}", "{file}", "--per", "2", "--per-second"], "--per and --per-second are mutually exclusive"),
        (["{file}", "{file}", "--run", "true", "--run", "true"], "--run makes the recordings; omit files, --a and --b"),
        (["--run", "true"], "--run takes two commands, A's and B's: --run './old' --run './new'"),
        (["--run", "true", "--run", "'"], "--run ''': no closing quotation"),
        (["--run", "true", "--run", "true", "--runs", "0"], "--runs takes 1 to 100"),
        (["--run", "true", "--run", "true", "--runs", "101"], "--runs takes 1 to 100"),
        (["--run", "true", "--run", "true", "--limit", "0"], "--limit takes seconds above 0, up to 86400"),
        (["--run", "true", "--run", "true", "--keep", "{folder}"],
         "--keep {folder} exists and is not an empty folder; name another"),
        (["{file}", "{file}", "--runs", "3"], "--runs needs --run, which makes recordings"),
        (["{file}", "{file}", "--b-root", "{folder}/no"], "--b-root {folder}/no is not a folder"),
        (["{file}", "{file}", "--keep", "{folder}/new"], "--keep needs --run, which makes recordings"),
    ],
)  # fmt: skip
def test_wrong_input_is_one_line(
    file: str, tmp_path: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    places = {"file": file, "folder": str(tmp_path)}
    assert run_command(["compare", *(word.format(**places) for word in words)]) == 2
    said = capsys.readouterr()
    assert (said.err, said.out) == (f"heapwright: {message.format(**places)}\n", "")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (
            "sample",
            "it is a sample (one block per 4096 bytes): most calls are not in it; record without --sample",
        ),
        ("cut", "it is cut or damaged: calls are missing; record it again"),
        ("part", "it is a part of a run: what lived before is not in it; record from the start"),
    ],
)
def test_what_is_not_whole_is_refused(
    file: str, tmp_path: Path, damage: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = small_trace()
    if damage == "sample":
        made.meta("sample_mean_bytes", 4096)
    elif damage == "part":
        made.line("switch", 0, 0).line("switch", 500, 1)
    else:
        made.has_end = False
    other = str(made.write(tmp_path / "other.heapwright"))
    assert run_command(["compare", file, other]) == 2
    assert capsys.readouterr().err == (
        f"heapwright: {other} cannot be compared: {reason} (--anyway compares what there is)\n"
    )
    assert run_command(["compare", file, other, "--anyway", "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert f"other.heapwright is incomplete, which may explain differences: {reason}" in notes


def test_recordings_of_several_programs_are_no_repeats(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = small_trace()
    made.lines = [line.replace("/opt/shop/server", "/opt/shop/other") for line in made.lines]
    other = str(made.write(tmp_path / "other.heapwright"))
    assert run_command(["compare", "--a", file, "--a", other, "--b", file]) == 2
    assert (
        "A's recordings are of several programs: /opt/shop/other, /opt/shop/server" in capsys.readouterr().err
    )
    assert run_command(["compare", file, other]) == 0
    assert "programs differ: A server, B other" in " ".join(capsys.readouterr().out.split())


def test_two_commands_in_turns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = BUILD / "programs/pairs"
    commands = [f"{program} 1000", f"{program} 3000"]
    words = [
        "compare",
        "--run",
        commands[0],
        "--run",
        commands[1],
        "--runs",
        "3",
        "--keep",
        str(tmp_path / "kept"),
    ]
    assert run_command([*words, "--json"]) == 0
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert [document[side]["command"] for side in "ab"] == commands
    assert (document["a"]["runs"], document["b"]["runs"]) == (3, 3)
    kept = sorted(path.name.split(".")[0] for path in (tmp_path / "kept").iterdir())
    assert kept == ["a-1", "a-2", "a-3", "b-1", "b-2", "b-3"]
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in (tmp_path / "kept").iterdir())
    calls = next(row for row in document["totals"] if row["key"] == "calls")
    assert (calls["verdict"], calls["band"]) == ("more", 0)


def test_a_command_that_fails_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["compare", "--run", "false", "--run", "true", "--runs", "1"]) == 2
    assert capsys.readouterr().err.startswith("heapwright: false failed: ")
    assert run_command(["compare", "--run", "/no/such", "--run", "true", "--runs", "1"]) == 2
    assert "there is no program '/no/such'" in capsys.readouterr().err
