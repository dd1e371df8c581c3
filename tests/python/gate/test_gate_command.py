# SPDX-License-Identifier: MIT
"""heapwright gate as users type it: exit codes, refusals, files for build servers, --accept."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest
from heapwright.cli import run_command
from shop import budget, shop, written
from written_traces import BUILD

WITHIN = "[program]\ncalls = 12\n"


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        (WITHIN, [], "gate takes a recording or a program: heapwright gate heap.toml -- PROGRAM [ARGUMENTS]"),
        (WITHIN, ["{file}", "--", "true"],
         "gate takes a recording or a program: heapwright gate heap.toml -- PROGRAM [ARGUMENTS]"),
        (WITHIN, ["{folder}/gone"], "no such file: {folder}/gone; heapwright record writes one"),
        (WITHIN, ["{file}", "--json", "--md"], "--json and --md both write to standard output; choose one"),
        (WITHIN, ["{file}", "--runs", "2"], "--runs and --keep need a program, not a recording"),
        (WITHIN, ["--runs", "0", "--", "true"], "--runs takes 1 to 100"),
        (WITHIN, ["{file}", "--accept"],
         "--accept and --reason need each other: --accept --reason 'a cache for the index'"),
        (WITHIN, ["{file}", "--reason", "x"],
         "--accept and --reason need each other: --accept --reason 'a cache for the index'"),
        (WITHIN, ["{file}", "--sarif", "-"],
         "--sarif - means standard output, where the result goes; name a file"),
        (f"ignore = ['*']\n{WITHIN}", ["{file}"],
         "{budget}: ignore excludes every loaded library: nothing would count"),
        (f"only = ['libcache*']\nignore = ['lib*']\n{WITHIN}", ["{file}"],
         "{budget}: ignore excludes every loaded library: nothing would count"),
        (WITHIN, ["{file}", "--junit", "{file}"],
         "{file} is the input of this command; name another file to write"),
        (WITHIN, ["{file}", "--toolchain", "gcc"],
         '{budget}: no [toolchain."gcc"]; heapwright gate --accept --toolchain gcc writes one'),
        ("[program]\ncalls = -1", ["{file}"], "{budget}: program: calls takes a number of at least 0, not -1"),
        ("[[site]]\nname = 'server+0x100'\ncalls = 1", ["{file}"],
         "{budget}: no call site server+0x100 in the recording; did you mean server+0x1000?; "
         "optional = true allows it to be absent"),
        ("[[thread]]\nname = 'wroker'\ncalls = 1", ["{file}"],
         "{budget}: no thread is called wroker; there are server, worker"),
        ("[[phase]]\nname = 'query'\ncalls = 1", ["{file}"],
         "{budget}: no phase is called query; the program names none (heapwright/annotate.h)"),
        (WITHIN, ["--", "false"], "false failed: "),
        (WITHIN, ["--limit", "500ms", "--", "sleep", "5"], "sleep 5 hung: no end after 0.5 s (--limit)\n"),
    ],
)  # fmt: skip
def test_wrong_input_is_one_line(
    tmp_path: Path, text: str, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"file": written(tmp_path), "folder": str(tmp_path), "budget": budget(tmp_path, text)}
    assert run_command(["gate", places["budget"], *(word.format(**places) for word in words)]) == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"heapwright: {message.format(**places)}")
    assert (said.err.count("\n"), said.out) == (1, "")


def test_no_budget_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["gate", str(tmp_path / "no.toml"), written(tmp_path)]) == 2
    assert "no such budget file" in capsys.readouterr().err
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    assert run_command(["gate", str(tmp_path / "binary.toml"), written(tmp_path)]) == 2
    assert "binary.toml is not UTF-8 text" in capsys.readouterr().err


def test_a_name_may_be_absent_where_nothing_is_allowed_or_it_is_optional(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind in ("site", "thread", "phase"):
        for limit in ("calls = 0", "calls = 1\noptional = true"):
            text = budget(tmp_path, f"[[{kind}]]\nname = 'nobody'\n{limit}\n")
            assert run_command(["gate", text, written(tmp_path)]) == 0
    capsys.readouterr()


@pytest.mark.parametrize("damage", ["sample", "cut", "part"])
def test_what_is_not_whole_proves_nothing(
    tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = shop()
    if damage == "sample":
        made.meta("sample_mean_bytes", 4096)
    elif damage == "part":
        made.line("switch", 0, 0).line("switch", 500, 1)
    else:
        made.has_end = False
    words = ["gate", budget(tmp_path, "[program]\ncalls = 1000\n"), written(tmp_path, made)]
    assert run_command(words) == 2
    assert " proves nothing: it is " in capsys.readouterr().err
    assert run_command([*words, "--anyway", "--json"]) == 0
    assert "is incomplete, its figures may be too low" in json.loads(capsys.readouterr().out)["notes"][0]
    words[1] = budget(tmp_path, "[program]\ncalls = 1\n")
    assert run_command([*words, "--anyway"]) == 1
    assert "\nnext: heapwright explain " in f"\n{capsys.readouterr().err}"  # not --accept
    assert run_command([*words, "--anyway", "--accept", "--reason", "x"]) == (2 if damage == "sample" else 0)
    said = "gives no limits" if damage == "sample" else "is incomplete, its figures may be too low: it is "
    assert said in " ".join("".join(capsys.readouterr()).split())


def test_the_files_for_build_servers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = budget(
        tmp_path,
        "[program]\ncalls = 11\nbytes = 3000\n[[thread]]\nname = 'worker'\ncalls = 99\ntwo_sided = true\n",
    )
    files = [tmp_path / "gate.xml", tmp_path / "gate.sarif"]
    words = ["gate", text, written(tmp_path), "--junit", str(files[0]), "--sarif", str(files[1])]
    assert run_command(words) == 1
    suite = ElementTree.fromstring(files[0].read_text())
    assert (suite.get("tests"), suite.get("failures")) == ("3", "2")
    failed = {case.get("name"): case[0].get("type") for case in suite if len(case)}
    assert failed == {"program: calls": "over", "thread worker: calls": "under"}
    run = json.loads(files[1].read_text())["runs"][0]
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {"heap-calls"}
    assert [result["level"] for result in run["results"]] == ["error", "warning"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "heap.toml"}, "region": {"startLine": 1}}
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)
    capsys.readouterr()
    assert run_command(["gate", text, written(tmp_path), "--md"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("### Heap budget: Outside the budget: 2 of 3 limits broken.\n")
    assert "| thread worker: calls | 10 | 99 | tighten |\n" in said


def test_the_answer_comes_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = budget(tmp_path, WITHIN)
    assert run_command(["gate", text, written(tmp_path)]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("Within budget: 1 limit of ")
    assert said.err.startswith("next: heapwright explain ")
    assert run_command(["gate", budget(tmp_path, "[program]\ncalls = 2\n"), written(tmp_path)]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("Outside the budget: 1 of 1 limit broken.\nprogram: allocations 12, 10 above")
    assert "--accept --reason 'why it is right'" in said.err


COMMENTED = """\
# Ours.
two_sided = true  # both ways

[program]
calls = 5            # of one order
resident_peak_bytes = 8_400_000
bytes = 3000

# The cache is small.
[[site]]
name = "libcache.so+0x1000"   # not the index
calls = 9
"""


def test_accept_keeps_everything_but_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = budget(tmp_path, COMMENTED)
    words = ["gate", text, written(tmp_path, shop(threads=1))]
    assert run_command([*words, "--accept", "--reason", "a larger order"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said == ["heapwright: program: calls 5 → 12", "heapwright: site libcache.so+0x1000: calls 9 → 2"]
    new = Path(text).read_text(encoding="utf-8")
    for line in ("# Ours.", "two_sided = true  # both ways", "calls = 12            # of one order",
                 "resident_peak_bytes = 8_400_000", "# The cache is small.", "calls = 2"):  # fmt: skip
        assert line in new.splitlines()
    document = tomllib.loads(new)
    assert document["program"]["reason"] == document["site"][0]["reason"] == "a larger order"
    assert document["program"]["sites"]["server+0x1000"] == {"calls": 10, "bytes": 1000, "peak_live_bytes": 0}
    assert run_command(words) == 0
    assert run_command([*words, "--accept", "--reason", "again"]) == 0
    assert Path(text).read_text(encoding="utf-8") == new
    assert "no limit changed" in capsys.readouterr().err


def test_without_the_package_that_writes_budgets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tomlkit", None)
    words = ["gate", budget(tmp_path, WITHIN), written(tmp_path)]
    assert run_command([*words, "--accept", "--reason", "x"]) == 2
    said = capsys.readouterr().err
    assert said == "heapwright: this needs the package tomlkit: pip install 'heapwright[gate]'\n"
    assert run_command(words) == 0
    capsys.readouterr()


def test_what_has_noise_gets_headroom(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = budget(
        tmp_path, "[program]\ncalls = 5\npeak_live_bytes = 5\nresident_peak_bytes = 9_999_999_999\n"
    )
    assert run_command(["gate", text, written(tmp_path), "--accept", "--reason", "first"]) == 0
    program = tomllib.loads(Path(text).read_text())["program"]
    assert (program["calls"], program["peak_live_bytes"]) == (12, 2100)  # of two threads
    assert program["resident_peak_bytes"] == 8_400_000
    capsys.readouterr()


def test_accept_writes_a_first_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = tmp_path / "new.toml"
    assert run_command(["gate", str(new), written(tmp_path), "--accept", "--reason", "first"]) == 0
    program = tomllib.loads(new.read_text())["program"]
    assert (program["calls"], program["bytes"], program["reason"]) == (12, 3000, "first")
    assert stat.S_IMODE(new.stat().st_mode) == 0o644
    assert run_command(["gate", str(new), written(tmp_path)]) == 0
    capsys.readouterr()


def test_a_toolchain_has_limits_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = budget(tmp_path, "[program]\ncalls = 5  # gcc\n[[site]]\nname = 'server+0x1000'\ncalls = 3\n")
    words = ["gate", text, written(tmp_path), "--toolchain", "clang-14"]
    assert run_command([*words, "--accept", "--reason", "clang"]) == 0
    assert "calls = 5  # gcc" in Path(text).read_text()
    assert run_command(words) == 0
    assert run_command(words[:3]) == 1
    document = tomllib.loads(Path(text).read_text())["toolchain"]["clang-14"]
    assert document["program"]["calls"] == 12
    assert document["site"] == [{"name": "server+0x1000", "calls": 10, "reason": "clang"}]
    capsys.readouterr()


def test_a_program_is_recorded_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = [str(BUILD / "programs/pairs"), "100", "7", "1"]
    words = ["gate", budget(tmp_path, "[program]\ncalls = 1000000\n"), "--keep", str(tmp_path / "kept")]
    assert run_command([*words, "--runs", "3", "--json", "--", *program]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["recordings"]) == len(document["checks"][0]["values"]) == 3
    assert len(set(document["checks"][0]["values"])) == 1
    assert len(list((tmp_path / "kept").iterdir())) == 3


def test_a_program_whose_allocator_is_not_seen_proves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = str(BUILD / "programs/own_malloc")
    assert run_command(["gate", budget(tmp_path, WITHIN), "--", program]) == 2
    assert capsys.readouterr().err == (
        f"heapwright: {program} proves nothing: '{Path(program).resolve()}' has an allocator linked in statically "
        "and calls it directly: its heap calls are not seen; record it with --patch to see these too, or link the "
        "allocator as a shared library (--anyway checks what there is)\n"
    )


def test_what_a_wrapper_starts_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A shell makes some 50 calls, pairs 1,000 and more; a static program cannot be recorded."""
    text = budget(tmp_path, "[program]\ncalls = 500\n")
    pairs, static = (BUILD / "programs" / name for name in ("pairs", "static_program"))
    assert run_command(["gate", text, "--json", "--", "sh", "-c", f"{pairs} 1000 7 1; true"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["program"], document["notes"]) == ("pairs", [])
    assert run_command(["gate", text, "--json", "--", "sh", "-c", f"{static} 0; true"]) == 0
    (note,) = json.loads(capsys.readouterr().out)["notes"]
    assert (
        f"it started 1 process that could not be recorded, such as {static}: it is linked statically" in note
    )


def test_children_that_were_not_recorded_are_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "sh.heapwright")
    command = [str(BUILD / "bin/heapwright-collect"), "--quiet", "--output", file]
    subprocess.run([*command, "--", "sh", "-c", "true | true"], check=True)
    assert run_command(["gate", budget(tmp_path, "[program]\ncalls = 500\n"), file, "--json"]) == 0
    (note,) = json.loads(capsys.readouterr().out)["notes"]
    assert note == "sh.heapwright: it started 2 child processes that were not recorded (record --children)"
