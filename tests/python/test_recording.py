# SPDX-License-Identifier: MIT
"""record and run on a real program whose lines are known (call_sites.cpp)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import heapwright
import pytest
from heapwright.cli import native_programs, run_command
from heapwright.cli.errors import InputError
from heapwright.cli.record import collector_command
from written_traces import BUILD, Command

PROGRAM = BUILD / "bin/call_sites"


@pytest.fixture(autouse=True)
def _use_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEAPWRIGHT_BIN", str(BUILD / "bin"))


def lines_of(trace: heapwright.Trace) -> dict[str, heapwright.model.SiteFacts]:
    facts = trace.facts()
    return {
        f"{Path(site.location.file).name}:{site.location.line}": facts.sites[site.number]
        for site in trace.sites()
        if site.location.file
    }


def test_record_passes_the_exit_code_and_names_lines(command: Command, tmp_path: Path) -> None:
    said = command("record", "--output", "it.heapwright", "--", PROGRAM)
    assert said.code == 3, said.err
    trace = heapwright.open(tmp_path / "it.heapwright")
    assert trace.facts().completeness.is_complete
    lines = lines_of(trace)
    # xmalloc, strdup and everything of std:: is plumbing.
    assert lines["call_sites.cpp:11"].live_at_end_bytes == 5000
    assert lines["call_sites.cpp:23"].bytes == 24
    assert lines["call_sites.cpp:17"].allocations > 100


def test_debug_info_of_a_library_that_is_plumbing_is_read_when_asked_for(
    command: Command, tmp_path: Path
) -> None:
    program = tmp_path / "libc.so.by_its_name"
    shutil.copy(PROGRAM, program)
    assert command("record", "--output", "it.heapwright", "--", program).code == 3
    trace = heapwright.open(tmp_path / "it.heapwright")
    stacks = range(1, len(trace.stack_columns["parent"]))
    found = {location for stack in stacks for location in trace.stack(stack)}
    assert "call_sites.cpp:11" in {f"{Path(location.file).name}:{location.line}" for location in found}
    assert not [location for location in found if location.function.startswith("libc.so.by_its_name+")]


def test_an_existing_recording_is_kept(command: Command, tmp_path: Path) -> None:
    (tmp_path / "it.heapwright").write_text("mine")
    said = command("record", "--output", "it.heapwright", "--", PROGRAM)
    assert said.code == 2
    assert said.err.startswith("heapwright: 'it.heapwright' exists; use --force")
    assert (tmp_path / "it.heapwright").read_text() == "mine"
    assert command("record", "--force", "--output", "it.heapwright", "--", PROGRAM).code == 3


def test_arguments_reach_the_program_and_not_the_trace(command: Command, tmp_path: Path) -> None:
    assert command("record", "--output", "it.heapwright", "--", PROGRAM, "--json").code == 4
    assert heapwright.open(tmp_path / "it.heapwright").metadata.command.endswith("call_sites")


def test_run_explains_and_passes_the_exit_code(command: Command, tmp_path: Path) -> None:
    said = command("run", "--", PROGRAM)
    assert said.code == 3
    assert "call_sites.cpp:11" in said.out
    assert "next: add --output trace.heapwright to keep the trace" in said.err
    assert list(tmp_path.glob("*.heapwright")) == []
    screen = said.out.splitlines()
    assert len(command("run", "--all", "--", PROGRAM).out.splitlines()) > len(screen)
    one = command("run", "--question", "sizes", "--", PROGRAM)
    assert (one.code, "[sizes]" in one.out, "[lifetimes]" in one.out) == (3, True, False)


def test_run_keeps_the_trace_when_asked(command: Command, tmp_path: Path) -> None:
    said = command("run", "--json", "--output", "kept.heapwright", "--", PROGRAM)
    assert said.code == 3
    assert json.loads(said.out)["summary"]["program"] == str(PROGRAM.resolve())
    assert (tmp_path / "kept.heapwright").stat().st_mode & 0o777 == 0o600


def test_run_takes_what_explain_and_record_take(command: Command, tmp_path: Path) -> None:
    chosen = ["--site", "call_sites.cpp:11", "--no-stacks", "--html", str(tmp_path / "page.html")]
    said = command("run", *chosen[:2], "--question", "volume", "--json", "--", PROGRAM)
    sites = json.loads(said.out)["questions"]["volume"]["sites"]
    assert [site["line"] for site in sites] == [11]
    said = command("run", *chosen[2:], "--tree", "callers", "--", PROGRAM)
    assert (said.code, "What stands out" in said.out) == (3, False)
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    said = command("run", "--duration", "1m", "--process", "nobody", "--", PROGRAM)
    assert said.err == "heapwright: --process nobody was not recorded; known: call_sites\n"


def test_run_records_a_running_process(command: Command) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        said = command("run", "--pid", process.pid, "--duration", "200ms", "--json")
        process.kill()
    assert said.code == 0, said.err
    assert json.loads(said.out)["summary"]["program"].endswith("sleep")


def test_run_of_nothing(command: Command) -> None:
    said = command("run", "--", "/no/such/program")
    assert (said.code, said.err) == (
        2,
        "heapwright: there is no program '/no/such/program'; check the name\n",
    )


def test_what_was_not_built_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After `make run` there is no heapwright-attach."""
    shutil.copy(BUILD / "bin/heapwright-collect", tmp_path)
    monkeypatch.setattr(native_programs, "_folders", lambda _kind: [tmp_path])
    with pytest.raises(InputError, match=r"^heapwright-attach is not built yet.* run `make build` in /"):
        collector_command({"pid": "1"}, [])
    assert collector_command({}, ["true"])[1:] == ["--", "true"]


def test_what_an_installation_lacks_is_not_to_be_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is no clone, `make` has nothing to make."""
    monkeypatch.setattr(native_programs, "_folders", lambda _kind: [tmp_path])
    monkeypatch.setattr(native_programs, "__file__", str(tmp_path / "lib/heapwright/cli/native_programs.py"))
    with pytest.raises(InputError, match=r"^heapwright-attach is missing .*; install heapwright again$"):
        native_programs.find(native_programs.ATTACHER)


def test_what_another_processor_lacks_is_not_to_be_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native_programs, "_folders", lambda _kind: [tmp_path])
    elsewhere = os.uname_result(("Linux", "board", "6.1", "#1", "aarch64"))
    monkeypatch.setattr(os, "uname", lambda: elsewhere)
    line = r"^heapwright-attach knows the code of x86-64 only and is not built for aarch64$"
    with pytest.raises(InputError, match=line):
        native_programs.find(native_programs.ATTACHER)
    with pytest.raises(InputError, match=r"run `make build` in /"):
        native_programs.find_library()


@pytest.mark.parametrize(
    ("option", "text", "passed_on"),
    [
        ("--duration", "10s", "10000000000ns"),
        ("--duration", "500ms", "500000000ns"),
        ("--duration", "0", "0ns"),
        ("--max-size", "10MB", str(10 << 20)),
        ("--sample", "512KiB", str(512 << 10)),
        ("--sample", "1.5m", str(3 << 19)),
    ],
)
def test_the_collector_gets_numbers(
    monkeypatch: pytest.MonkeyPatch, option: str, text: str, passed_on: str
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(os, "execv", lambda _, line: seen.extend(line))
    run_command(["record", option, text, "--", "true"])
    assert seen[1:] == [option, passed_on, "--", "true"]


def test_a_time_with_its_unit_ends_a_recording(command: Command, tmp_path: Path) -> None:
    line = ["record", "--duration", "200ms", "--quiet", "--output", str(tmp_path / "x.heapwright")]
    result = command(*line, "--", "sleep", "1")
    assert result.code == 0, result.err
    assert heapwright.open(tmp_path / "x.heapwright").end.time_ns < 900_000_000


def test_by_type_the_texts_of_strings_are_one_row(command: Command) -> None:
    assert command("record", "--output", "it.heapwright", "--", PROGRAM).code == 3
    said = command("explain", "--by", "type", "--question", "volume", "--json", "it.heapwright")
    rows = {row["name"]: row for row in json.loads(said.out)["questions"]["volume"]["sites"]}
    # Of each round one text is moved and one may be copied.
    assert 100 <= rows["text of std::string"]["allocations"] <= 200
    assert rows["elements of std::vector<std::string>"]["allocations"] == 8  # it doubles
    assert any(name.endswith("call_sites.cpp:11") for name in rows), "malloc's block has no type"
