# SPDX-License-Identifier: MIT
"""Budgets and recordings that prove nothing, hostile ones, and files that gate must not replace."""

from __future__ import annotations

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import heapwright
import pytest
from heapwright.cli import run_command
from heapwright.gate.budget import BudgetError, parse
from shop import budget, shop, written
from written_traces import MALLOC, Command

WITHIN = "[program]\ncalls = 12\n"
LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"[program]\ncalls = {LARGEST + 1}", f"program: calls is above {LARGEST}, the maximum of a limit"),
        ("[program]\ncalls = 1e300", f"program: calls is above {LARGEST}, the maximum of a limit"),
        (f"[program]\ncalls = {'9' * 5000}",
         "not readable TOML: a number has too many digits, or tables are nested too deeply"),
        ("toolchain = 5", "toolchain holds tables by name: [toolchain.NAME.program]"),
        ("[toolchain]\ngcc = 5", "toolchain holds tables by name: [toolchain.NAME.program]"),
        ("program = 0", "program is one table: [program]"),
        ("program = []", "program is one table: [program]"),
        (f"[program]\ncalls = 1\n[program.sites]\nf = {{calls = {LARGEST + 1}}}",
         "program.sites is written by --accept: name = {calls = …, bytes = …, peak_live_bytes = …}"),
        ('"a\\u001b[2J" = 1', "the file: unknown key 'a\\x1b[2J'"),
        *((f"[[{kind}]]\nname = 'append'\ncalls = 1\n[[{kind}]]\nname = 'append'\n{key} = 2",
           f"{kind} append is given twice")
          for kind in ("site", "thread", "phase") for key in ("calls", "bytes")),
        *((f'[[site]]\nname = "a{escape}b"\ncalls = 1',
           f"a [[site]] is named {name!a}; names have only printable characters")
          for escape, name in (("\\u001b", "a\x1bb"), ("\\u0000", "a\0b"), ("\\n", "a\nb"))),
    ],
)  # fmt: skip
def test_wrong_budgets(text: str, message: str) -> None:
    with pytest.raises(BudgetError) as error:
        parse(text)
    assert str(error.value) == message


def test_a_damaged_chunk_proves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table of chunks is whole, and what one of them holds is not."""
    file = Path(written(tmp_path))
    content = bytearray(file.read_bytes())
    for at in range(len(content)):
        content[at] ^= 1
        file.write_bytes(content)
        content[at] ^= 1
        try:
            trace = heapwright.open(file)
        except heapwright.TraceError:
            continue
        if not trace.damage and trace.damaged_chunks:
            break
    else:
        raise AssertionError("no byte of a chunk's content was found")
    assert run_command(["gate", budget(tmp_path, WITHIN), str(file)]) == 2
    assert "it is cut or damaged" in capsys.readouterr().err


def test_the_largest_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["gate", budget(tmp_path, f"[program]\ncalls = {LARGEST}\n"), written(tmp_path)]
    assert run_command(words) == 0
    assert run_command([*words, "--json"]) == 0
    assert run_command([*words, "--md"]) == 0
    capsys.readouterr()


def test_threads_without_a_name_prove_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = shop()
    made.lines = [line.replace('"worker"', '""') for line in made.lines]
    file = written(tmp_path, made)
    for limit in ("calls = 0", "calls = 99", "calls = 0\noptional = true"):
        assert run_command(["gate", budget(tmp_path, f"[[thread]]\nname = 'worker'\n{limit}\n"), file]) == 2
        assert capsys.readouterr().err.endswith(
            "heap.toml: 1 thread ended before its name was read; limit sites or phases instead\n"
        )
    assert run_command(["gate", budget(tmp_path, WITHIN), file]) == 0
    capsys.readouterr()


@pytest.mark.parametrize("text", ["", "# Ours.\n", "[program]\n", 'ignore = ["libz*"]\n', "site = []\n"])
def test_a_budget_without_a_limit(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["gate", budget(tmp_path, text), written(tmp_path)]
    assert run_command(words) == 2
    assert capsys.readouterr().err == (
        f"heapwright: {words[1]} has no limits; --accept --reason TEXT writes them\n"
    )
    if text == "site = []\n":
        return
    assert run_command([*words, "--accept", "--reason", "first"]) == 0
    said = Path(words[1]).read_text(encoding="utf-8")
    assert "calls = 12\n" in said
    assert text.strip() in said
    assert run_command(words) == 0
    capsys.readouterr()


def test_first_limits_of_a_toolchain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["gate", budget(tmp_path, "# none\n"), written(tmp_path), "--toolchain", "gcc"]
    assert run_command([*words, "--accept", "--reason", "first"]) == 0
    assert run_command(words) == 0
    assert run_command(words[:3]) == 2
    assert "has no limits" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("end", "said"), [("2 9", "was killed by signal 9"), ("1 3", "failed with exit code 3")]
)
def test_how_the_program_ended_is_said(
    tmp_path: Path, end: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = shop()
    made.end = f"end {end} 10000000"
    assert run_command(["gate", budget(tmp_path, WITHIN), written(tmp_path, made), "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert notes == [f"shop.heapwright: its program {said}; figures cover the time until then"]


def test_samples_give_no_limits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, shop().meta("sample_mean_bytes", 4096))
    text = budget(tmp_path, WITHIN)
    assert run_command(["gate", text, file, "--anyway", "--accept", "--reason", "x"]) == 2
    assert capsys.readouterr().err == (
        f"heapwright: {file} is sampled and gives no limits; record without --sample\n"
    )
    assert Path(text).read_text() == WITHIN


@pytest.mark.parametrize(
    "text",
    [
        "program = {calls = 3}\n",
        "site = [{name = 'server+0x1000', calls = 3}]\n",
        "[program]\ncalls = 3\n[toolchain]\ngcc = {program = {calls = 3}}\n",
    ],
)
def test_accept_says_what_it_cannot_write(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["gate", budget(tmp_path, text), written(tmp_path), "--accept", "--reason", "x"]
    assert run_command([*words, "--toolchain", "gcc"] if "gcc" in text else words) == 2
    said = capsys.readouterr().err
    assert "--accept cannot write into " in said
    assert said.count("\n") == 1
    assert Path(words[1]).read_text() == text


def test_line_ends_and_the_mark_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "heap.toml"
    path.write_bytes(b"\xef\xbb\xbf# Ours.\r\n[program]\r\ncalls = 3 # of one\r\n")
    words = ["gate", str(path), written(tmp_path)]
    assert run_command(words) == 1
    assert run_command([*words, "--accept", "--reason", "x"]) == 0
    whole = path.read_bytes()
    assert whole.startswith(b"\xef\xbb\xbf# Ours.\r\n[program]\r\ncalls = 12 # of one\r\n")
    assert whole.count(b"\n") == whole.count(b"\r\n")
    assert run_command(words) == 0
    capsys.readouterr()


def test_a_file_name_that_is_not_utf_8(tmp_path: Path, command: Command) -> None:
    path = tmp_path / os.fsdecode(b"heap\xff.toml")
    path.write_text("[program]\ncalls = 1\n", encoding="utf-8")
    files = [tmp_path / "gate.xml", tmp_path / "gate.sarif"]
    words = ["gate", path, written(tmp_path)]
    assert command(*words, "--junit", files[0], "--sarif", files[1]).code == 1
    assert len(ElementTree.fromstring(files[0].read_text(encoding="utf-8"))) == 1
    assert "heap%FF.toml" in files[1].read_text()
    for form in ("--md", "--json"):
        said = command(*words, form)
        assert (said.code, "Traceback" in said.err) == (1, False)


@pytest.mark.parametrize("option", ["--junit", "--sarif"])
def test_what_is_read_is_not_replaced(
    tmp_path: Path, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text, file = budget(tmp_path, WITHIN), written(tmp_path)
    link = tmp_path / "link.xml"
    link.symlink_to(text)
    for path in (text, file, str(link)):
        assert run_command(["gate", text, file, option, path, "--force"]) == 2
        assert capsys.readouterr().err == (
            f"heapwright: {path} is the input of this command; name another file to write\n"
        )
    assert Path(text).read_text() == WITHIN
    other = tmp_path / "there"
    other.touch()
    assert run_command(["gate", text, file, option, str(other)]) == 2
    assert f"use --force to replace it or choose another with {option}\n" in capsys.readouterr().err


def test_two_reports_are_two_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same = str(tmp_path / "report")
    words = ["gate", budget(tmp_path, WITHIN), written(tmp_path), "--junit", same, "--sarif", same]
    assert run_command(words) == 2
    assert "--junit and --sarif name the same file" in capsys.readouterr().err


def test_names_are_no_links_in_markdown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = budget(tmp_path, '[[site]]\nname = "[x](y) | z"\ncalls = 0\n')
    assert run_command(["gate", text, written(tmp_path), "--md"]) == 0
    assert "| site \\[x\\](y) \\| z: calls |" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text",
    ["ignore = ['libx*']", "only = ['server']", "suppressions = ['x']", "[[site]]\nname = 'x'\ncalls = 0"],
)
def test_what_needs_stacks_is_refused_without(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = shop(rows=0, cached=0)
    made.lines = [line for line in made.lines if not line.startswith(("stack", "frame"))]
    made.event(MALLOC, 0x10000, 100)
    limits = "\n[program]\ncalls = 1\nlive_at_end_bytes = 1000\n"
    assert run_command(["gate", budget(tmp_path, text + limits), written(tmp_path, made)]) == 2
    assert "the recording has no stacks (--no-stacks): limits of sites" in capsys.readouterr().err
    assert run_command(["gate", budget(tmp_path, limits), written(tmp_path, made)]) == 0
    capsys.readouterr()
