# SPDX-License-Identifier: MIT
"""Every command with an output that is ASCII only, full, closed, a pipe, a device or a link."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from conftest import command

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(not command.exists(), reason="heapwright is not installed into .venv"),
]

EVERY = {
    "help": ["--help"],
    "record": ["record", "--json", "--output", "{new}", "--", "true"],
    "run": ["run", "--", "true"],
    "run to json": ["run", "--json", "--", "true"],
    "explain": ["explain", "{trace}"],
    "explain with options": ["explain", "{trace}", "--top", "3"],
    "explain at length": ["explain", "{trace}", "--all"],
    "explain to json": ["explain", "{trace}", "--json"],
    "sql": ["sql", "{trace}", "select 'µ•→' as sign, * from event"],
    "sql to csv": ["sql", "{trace}", "select * from event", "--csv"],
    "sql to json": ["sql", "{trace}", "select * from event", "--json"],
    "export to parquet": ["export", "{trace}", "--to", "parquet", "-o", "-"],
    "export to pprof": ["export", "{trace}", "--to", "pprof", "-o", "-"],
    "export to folded": ["export", "{trace}", "--to", "folded", "-o", "-"],
    "export to speedscope": ["export", "{trace}", "--to", "speedscope", "-o", "-"],
    "export to perfetto": ["export", "{trace}", "--to", "perfetto", "-o", "-"],
    "info": ["info", "{trace}"],
    "compare": ["compare", "{trace}", "{trace}"],
    "compare to json": ["compare", "{trace}", "{trace}", "--json"],
    "compare to Markdown": ["compare", "{trace}", "{trace}", "--md"],
    "gate": ["gate", "{budget}", "{trace}"],
    "gate to json": ["gate", "{budget}", "{trace}", "--json"],
    "gate to Markdown": ["gate", "{budget}", "{trace}", "--md"],
    "lab": ["lab"],
    "lab latency": ["lab", "latency", "--on", "glibc", "--runs", "1", "--scale", "0.001"],
    "lab latency to json": ["lab", "latency", "--on", "glibc", "--runs", "1", "--scale", "0.001", "--json"],
    "lab latency to a page": ["lab", "latency", "--on", "glibc", "--runs", "1", "--scale", "0.001", "--html", "-"],
}  # fmt: skip
BINARY = {"export to parquet", "export to pprof"}


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trace") / "né-倉.heapwright"
    program = path.with_name("né-倉")
    shutil.copy("/usr/bin/ls", program)
    subprocess.run([command, "record", "-o", path, "--", program, "/"], check=True, capture_output=True)
    return path


def arguments_of(name: str, trace: Path, folder: Path) -> list[str]:
    budget = folder / "heap.toml"
    budget.write_text("[program]\ncalls = 1000000\n[[site]]\nname = 'né-倉'\ncalls = 0\n", encoding="utf-8")
    places = {"trace": trace, "new": folder / "new.heapwright", "budget": budget}
    return [str(command), *(part.format(**places) for part in EVERY[name])]


def run(line: list[str], folder: Path, **options: object) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, **options.pop("environment", {})}  # type: ignore[dict-item]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run(line, cwd=folder, env=environment, check=False, timeout=120, **options)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize("name", EVERY)
def test_in_ascii(trace: Path, tmp_path: Path, name: str) -> None:
    environment = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    said = run(arguments_of(name, trace, tmp_path), tmp_path, environment=environment)
    assert said.returncode == 0, said.stderr
    assert b"Traceback" not in said.stderr
    assert said.stdout
    is_whole_file = name in BINARY or "export" in name or "page" in name  # a format says its own encoding
    assert said.stdout.isascii() or is_whole_file
    if "json" in name and name != "record":
        json.loads(said.stdout)


@pytest.mark.parametrize("name", EVERY)
def test_in_the_locale_c(trace: Path, tmp_path: Path, name: str) -> None:
    environment = {"LC_ALL": "C"}
    said = run(arguments_of(name, trace, tmp_path), tmp_path, environment=environment)
    assert said.returncode == 0, said.stderr
    assert b"Traceback" not in said.stderr


@pytest.mark.parametrize("name", EVERY)
def test_a_full_disk_is_one_line(trace: Path, tmp_path: Path, name: str) -> None:
    with Path("/dev/full").open("wb") as full:
        said = run(arguments_of(name, trace, tmp_path), tmp_path, stdout=full)
    lines = [
        line
        for line in said.stderr.decode().splitlines()
        if not line.startswith("next: ") and "events in" not in line and "not installed:" not in line
    ]
    assert len(lines) == 1, lines
    assert lines[0].startswith("heapwright: cannot write")
    assert lines[0].lower().rstrip(")").endswith("no space left on device")
    # record passes on how the program ended; its trace is whole
    assert said.returncode == (0 if name == "record" else 2)


@pytest.mark.parametrize("name", EVERY)
def test_errors_that_nobody_can_read_change_nothing(trace: Path, tmp_path: Path, name: str) -> None:
    with Path("/dev/full").open("wb") as full:
        said = run(arguments_of(name, trace, tmp_path), tmp_path, stderr=full)
    assert said.returncode == 0
    assert said.stdout


@pytest.mark.parametrize("name", EVERY)
def test_a_reader_that_goes_away_is_no_error(trace: Path, tmp_path: Path, name: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    said = run(arguments_of(name, trace, tmp_path), tmp_path, stdout=writer)
    os.close(writer)
    lines = [line for line in said.stderr.decode().splitlines() if line.startswith("heapwright: cannot")]
    assert lines == (["heapwright: cannot write the summary (Broken pipe)"] if name == "record" else [])
    assert b"Traceback" not in said.stderr
    assert said.returncode == 0


@pytest.mark.parametrize("name", EVERY)
def test_a_closed_output_is_one_line(trace: Path, tmp_path: Path, name: str) -> None:
    line = ["sh", "-c", 'exec "$@" >&-', "sh", *arguments_of(name, trace, tmp_path)]
    said = run(line, tmp_path)
    assert b"Traceback" not in said.stderr
    assert said.returncode == (0 if name == "record" else 2)
    assert said.stderr.decode().lower().count("bad file descriptor") == 1


def test_run_keeps_the_exit_code_when_its_reader_goes(tmp_path: Path) -> None:
    script = 'trap "" PIPE; "$0" run -- sh -c "exit 7" | head -n 1 >/dev/null; echo "${PIPESTATUS[0]}"'
    said = run(["bash", "-c", script, str(command)], tmp_path)
    assert said.stdout.strip() == b"7"
    reader, writer = os.pipe()
    os.close(reader)
    gone = run([str(command), "run", "--json", "--", "sh", "-c", "exit 7"], tmp_path, stdout=writer)
    os.close(writer)
    assert (gone.returncode, b"Traceback" in gone.stderr) == (7, False)


def null_device(folder: Path) -> Path:
    """A device like /dev/null that a test may lose: as root, a fault here would replace the machine's own."""
    if os.geteuid() != 0:
        return Path("/dev/null")
    device = folder / "device"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        device.write_bytes(b"x")
    except PermissionError:
        pytest.skip("root may not make or use devices here")
    return device


FILES = ["export to folded", "export to parquet", "export to pprof"]


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize("name", FILES)
def test_devices_pipes_and_links_are_written_through(
    trace: Path, tmp_path: Path, name: str, force: list[str]
) -> None:
    line = [*arguments_of(name, trace, tmp_path)[:-1]]
    device = null_device(tmp_path)
    (tmp_path / "null").symlink_to(device)
    assert run([*line, tmp_path / "null", *force], tmp_path).returncode == 0
    assert (tmp_path / "null").is_symlink()
    assert stat.S_ISCHR(device.stat().st_mode)
    whole = run([*line, "-"], tmp_path).stdout
    assert len(whole) > 100
    if name != "export to parquet":  # holds the time it was written
        assert run([*line, "/dev/stdout", *force], tmp_path).stdout == whole
        os.mkfifo(tmp_path / "fifo")
        with subprocess.Popen(["cat", tmp_path / "fifo"], stdout=subprocess.PIPE) as reader:
            assert run([*line, tmp_path / "fifo", *force], tmp_path).returncode == 0
            assert reader.communicate(timeout=60)[0] == whole
        assert stat.S_ISFIFO((tmp_path / "fifo").stat().st_mode)


def test_a_link_to_a_file_stays_a_link(trace: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    (tmp_path / "link").symlink_to("file")
    line = [str(command), "export", str(trace), "--to", "folded", "-o", "link"]
    assert run(line, tmp_path).returncode == 2
    assert (tmp_path / "file").read_text() == "precious"
    assert run([*line, "--force"], tmp_path).returncode == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() != "precious"


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_a_recording_goes_through_devices_and_pipes(tmp_path: Path, force: list[str]) -> None:
    (tmp_path / "null").symlink_to(null_device(tmp_path))
    os.mkfifo(tmp_path / "fifo")
    program = ["--", "sh", "-c", "echo out"]
    said = run([str(command), "record", "-o", "null", *force, *program], tmp_path)
    assert (said.returncode, said.stdout) == (0, b"out\n"), said.stderr
    assert (tmp_path / "null").is_symlink()
    with subprocess.Popen(["cat", tmp_path / "fifo"], stdout=subprocess.PIPE) as reader:
        said = run([str(command), "record", "-o", "fifo", *force, *program], tmp_path)
        piped = reader.communicate(timeout=60)[0]
    assert (said.returncode, said.stdout) == (0, b"out\n"), said.stderr
    said = run([str(command), "record", "-o", "-", *force, *program], tmp_path)
    assert said.returncode == 0
    assert said.stderr.startswith(b"heapwright: note") or b"out\n" in said.stderr
    for number, content in enumerate((piped, said.stdout)):
        (tmp_path / f"{number}.heapwright").write_bytes(content)
        read = run([str(command), "info", f"{number}.heapwright", "--json"], tmp_path)
        document = json.loads(read.stdout)
        assert (document["end"]["reason"], document["damage"]) == ("exited", [])


def test_a_pipe_takes_one_recording(tmp_path: Path) -> None:
    said = run([str(command), "record", "-o", "-", "--", "sh", "-c", "exec ls /"], tmp_path)
    assert said.returncode == 0
    assert b"'-' takes one recording" in said.stderr
    (tmp_path / "x.heapwright").write_bytes(said.stdout)
    document = json.loads(run([str(command), "info", "x.heapwright", "--json"], tmp_path).stdout)
    assert document["damage"] == []
    said = run([str(command), "record", "--children", "-o", "-", "--", "ls"], tmp_path)
    assert (said.returncode, said.stdout) == (2, b"")
    assert said.stderr.count(b"\n") == 1
    said = run([str(command), "run", "-o", "-", "--", "ls"], tmp_path)
    assert (said.returncode, said.stdout) == (2, b"")
