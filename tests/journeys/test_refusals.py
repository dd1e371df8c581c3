# SPDX-License-Identifier: MIT
"""Bad input: one line that says what to do, exit code 2, and nothing left behind."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Record, Recording, collector, programs


def one_line(recording: Recording) -> str:
    assert recording.status == 2, recording.errors
    assert recording.output == ""
    assert recording.paths() == []
    lines = recording.errors.splitlines()
    assert len(lines) == 1, recording.errors
    assert lines[0].startswith("heapwright: ")
    return lines[0].removeprefix("heapwright: ")


def test_a_missing_program(record: Record) -> None:
    assert one_line(record("/no/such/program")) == "there is no program '/no/such/program'; check the name"


def test_a_program_missing_in_path(record: Record) -> None:
    line = one_line(record(Path("no-such-program-anywhere")))
    assert line == "there is no program 'no-such-program-anywhere' in PATH; check the name and PATH"


def test_a_file_that_is_not_executable(record: Record, tmp_path: Path) -> None:
    path = tmp_path / "script"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o644)
    line = one_line(record(path))
    assert line == f"'{path}' is not executable; make it so with: chmod +x {path}"


def test_a_folder(record: Record, tmp_path: Path) -> None:
    assert one_line(record(tmp_path)) == f"'{tmp_path}' is a folder, not a program"


def test_a_static_program_with_its_children(record: Record) -> None:
    """Alone it is recorded, as with --patch."""
    path = programs / "static_program"
    assert one_line(record(path, options=["--children"])) == (
        f"'{path}' is linked statically, so no library can be preloaded; "
        "record it with --patch, or link it dynamically (without -static)"
    )


def test_a_sanitizer_program(record: Record) -> None:
    path = programs / "asan_program"
    assert one_line(record(path)) == (
        f"'{path}' is built with AddressSanitizer, which brings its own heap; build it without -fsanitize"
    )


def test_a_setuid_program(record: Record, tmp_path: Path) -> None:
    path = tmp_path / "setuid_program"
    shutil.copy(programs / "exits_with", path)
    path.chmod(0o4755)
    assert one_line(record(path)) == (
        f"'{path}' is setuid or setgid, and the loader ignores preloaded libraries in such programs; "
        f"record a copy: cp {path} ./copy"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--no-such-option"], "unknown option --no-such-option; heapwright-collect --help lists them"),
        (["--max-frames", "0"], "--max-frames takes a whole number from 1 to 128, not '0'"),
        (["--max-frames", "129"], "--max-frames takes a whole number from 1 to 128, not '129'"),
        (
            ["--sample", "often"],
            "--sample takes a number of bytes such as 4096, 512k, 100M or 2G, not 'often'",
        ),
        (["--sample", "-1"], "--sample takes a number of bytes such as 4096, 512k, 100M or 2G, not '-1'"),
        (["--duration", "0"], "--duration takes a time above 0 such as 2.5s, 300ms or 10m, not '0'"),
        (["--max-size", "1"], "--max-size must be at least 64k"),
        (["--free-stacks", "--no-stacks"], "--free-stacks and --no-stacks exclude each other; drop one"),
    ],
)
def test_options_out_of_range(record: Record, options: list[str], message: str) -> None:
    assert one_line(record("exits_with", options=options)) == message


def test_an_existing_file_is_kept(record: Record, tmp_path: Path) -> None:
    path = tmp_path / "kept.heapwright"
    path.write_text("precious")
    recording = record("exits_with", options=["--output", str(path)])
    assert path.read_text() == "precious"
    assert one_line(recording) == (
        f"'{path}' exists; use --force to replace it or choose another with --output"
    )


def test_an_existing_file_is_replaced_when_told(record: Record, tmp_path: Path) -> None:
    path = tmp_path / "old.heapwright"
    path.write_text("old")
    recording = record("exits_with", options=["--output", str(path), "--force"])
    assert recording.status == 0, recording.errors
    assert path.stat().st_size > 100


def test_a_missing_output_folder(record: Record, tmp_path: Path) -> None:
    path = tmp_path / "none" / "x.heapwright"
    assert one_line(record("exits_with", options=["--output", str(path)])) == (
        f"the output folder '{path.parent}' does not exist; create it or choose another with --output"
    )


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_an_unwritable_output_folder(record: Record, tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o555)
    line = one_line(record("exits_with", options=["--output", str(folder / "x.heapwright")]))
    assert str(folder) in line


def test_no_program_at_all() -> None:
    result = subprocess.run([collector], capture_output=True, text=True, check=False, timeout=120)
    assert result.returncode == 2
    assert result.stderr == (
        "heapwright: name the program to record: heapwright-collect -- PROGRAM [ARGUMENTS]\n"
    )


def test_a_script_is_recorded_through_its_interpreter(record: Record, tmp_path: Path) -> None:
    path = tmp_path / "script"
    path.write_text("#!/bin/sh\nexit 5\n")
    path.chmod(0o755)
    assert record(path).status == 5
