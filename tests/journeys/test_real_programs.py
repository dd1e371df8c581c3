# SPDX-License-Identifier: MIT
"""Whole ways through larger programs: a compiler with its children, a server under load, programs of Debian."""

import json
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest
from conftest import collector, end_exited, project, read_trace
from debian_programs import Program, programs, run, run_alone

pytestmark = pytest.mark.full


def test_a_compiler_and_its_children(tmp_path: Path) -> None:
    source = project / "tests/programs/dump_trace.cpp"
    line = [collector, "--children", "--output", tmp_path / "%e.%p.heapwright", "--quiet", "--"]
    line += ["g++", "-std=c++20", "-O2", "-I", project / "src", "-c", source, "-o", tmp_path / "x.o"]
    subprocess.run([str(p) for p in line], check=True, capture_output=True, timeout=300)
    traces = [read_trace(path) for path in tmp_path.glob("*.heapwright")]
    names = {trace.facts["program"].rsplit("/", 1)[-1] for trace in traces}
    assert any(name.startswith("cc1plus") for name in names)
    assert any("g++" in name for name in names)
    assert any(name in ("as", "x86_64-linux-gnu-as") for name in names)
    for trace in traces:
        assert trace.problems() == []
        assert (trace.facts["end_reason"], trace.facts["end_status"]) == (end_exited, 0)
    compiler = next(t for t in traces if "cc1plus" in t.facts["program"])
    assert compiler.facts["events"] > 300_000
    assert (tmp_path / "x.o").stat().st_size > 10_000


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_for_port(port: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"nothing listens on port {port}")


@pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server is not installed")
def test_a_server_under_load(tmp_path: Path) -> None:
    port = str(free_port())
    path = tmp_path / "redis.heapwright"
    server = [str(collector), "--output", str(path), "--", "redis-server", "--port", port, "--save", ""]
    process = subprocess.Popen(
        server, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        wait_for_port(int(port))
        load = ["redis-benchmark", "-p", port, "-n", "20000", "-c", "20", "-r", "5000", "-d", "200", "-q"]
        subprocess.run([*load, "-t", "set,lpush,lpop"], check=True, capture_output=True, timeout=120)
        subprocess.run(["redis-cli", "-p", port, "shutdown", "nosave"], check=True, timeout=120)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    trace = read_trace(path)
    assert trace.problems() == []
    assert "jemalloc" in trace.facts["allocator"]
    assert trace.facts["events"] > 60_000
    assert sum(n for kind, _, n in trace.facts["allocated"] if kind == "malloc") > 40_000


@pytest.mark.parametrize("program", programs, ids=[program.name for program in programs])
def test_a_program_works_while_it_is_recorded(program: Program, tmp_path: Path) -> None:
    alone = run_alone(program, tmp_path / "alone")
    summary = tmp_path / "summary.json"
    line = [str(collector), "--children", "--quiet", "--summary", str(summary)]
    line += ["--output", str(tmp_path / "%e.%p.heapwright"), "--"]
    recorded = run(program, tmp_path / "recorded", line, {})
    assert recorded[:2] == alone[:2], recorded.errors
    files = json.loads(summary.read_text())["files"]
    assert any(file["events"] > 100 for file in files)
    assert [file for file in files if file["error"] or file["end"] is None or file["dropped"]] == []
