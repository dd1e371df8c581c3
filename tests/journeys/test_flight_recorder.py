# SPDX-License-Identifier: MIT
"""count --dump-when: what a program did is told after it grew, neared its limit, or was killed for it."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import command
from counting import ask, environment
from serving import until

pytestmark = pytest.mark.full

MIB = 1 << 20
LIMIT_BYTES = 160 * MIB
# Keeps 2 MiB in each step of argv[1] seconds, up to argv[2] steps; then waits for a line.
GROWER = """
import sys, time
kept = []
def keep_on(): kept.append(bytearray(262144) * 8)
for _ in range(int(sys.argv[2])):
    keep_on()
    time.sleep(float(sys.argv[1]))
sys.stdin.readline()
"""
# Makes and drops 16 MiB in each step.
STEADY = GROWER.replace("kept.append(bytearray(262144) * 8)", "bytearray(16777216)")


class Cgroup:
    """With LIMIT_BYTES, of version 1, without swap."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "memory.limit_in_bytes").write_text(str(LIMIT_BYTES))
        swap = path / "memory.memsw.limit_in_bytes"
        if swap.exists():
            swap.write_text(str(LIMIT_BYTES))

    def kills(self) -> int:
        lines = (line.split() for line in (self.path / "memory.oom_control").read_text().splitlines())
        return int(dict(lines).get("oom_kill", "0"))


@pytest.fixture
def cgroup() -> Iterator[Cgroup]:
    path = Path("/sys/fs/cgroup/memory") / f"heapwright-test-{time.monotonic_ns()}"
    try:
        path.mkdir()
    except OSError as error:
        pytest.skip(f"needs a cgroup of its own, version 1, with a limit of memory: {error}")
    try:
        yield Cgroup(path)
    finally:
        assert until(lambda: not (path / "cgroup.procs").read_text())
        path.rmdir()


def run(
    cwd: Path, when: str, program: str, *arguments: object, cgroup: Cgroup | None = None
) -> subprocess.Popen[str]:
    line = [str(command), "count", "--sample", "64k", "--dump-when", when, "--", "/usr/bin/python3", "-S", "-c",
            program, *map(str, arguments)]  # fmt: skip
    if cgroup:
        line = ["/bin/sh", "-c", f'echo $$ > {cgroup.path}/cgroup.procs && exec "$@"', "sh", *line]
    return subprocess.Popen(
        line, env=environment, cwd=cwd, text=True, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )


def dumped(cwd: Path, kind: str) -> list[Path]:
    return list(cwd.glob(f"python3*.{kind}.heapwright"))


def explained(path: Path) -> str:
    result = ask("explain", str(path), "--unchecked")
    assert result.returncode == 0, result.stderr
    return " ".join(result.stdout.split())


def test_growth_is_dumped_once_while_it_goes_on(tmp_path: Path) -> None:
    grower = run(tmp_path, "growth=4M/1s", GROWER, 0.1, 80)
    found = until(lambda: dumped(tmp_path, "growth"))
    is_running = grower.poll() is None
    _, said = grower.communicate("\n", timeout=60)
    assert is_running and grower.returncode == 0
    assert len(list(tmp_path.iterdir())) == len(found) == 1
    assert said.count("grew by") == 1
    assert f"heapwright explain {found[0].name}" in said
    assert found[0].stat().st_mode & 0o777 == 0o600
    assert "taken while the program ran" in explained(found[0])


def test_what_is_dropped_again_is_not_dumped(tmp_path: Path) -> None:
    steady = run(tmp_path, "growth=4M/1s", STEADY, 0.1, 50)
    _, said = steady.communicate("\n", timeout=60)
    assert steady.returncode == 0
    assert "grew" not in said
    assert not list(tmp_path.iterdir())


def test_a_cgroup_that_is_used_up_to_a_share_is_dumped(tmp_path: Path, cgroup: Cgroup) -> None:
    grower = run(tmp_path, "cgroup=70%", GROWER, 0.1, 45, cgroup=cgroup)
    found = until(lambda: dumped(tmp_path, "cgroup"), seconds=60)
    used = int((cgroup.path / "memory.usage_in_bytes").read_text())
    _, said = grower.communicate("\n", timeout=60)
    assert grower.returncode == 0
    assert len(found) == 1
    assert used >= 0.7 * LIMIT_BYTES
    assert "% of 160 MiB used" in said
    assert "taken while the program ran" in explained(found[0])


def test_before_and_after_a_kill_for_want_of_memory_samples_are_written(
    tmp_path: Path, cgroup: Cgroup
) -> None:
    grower = run(tmp_path, "oom", GROWER, 0.1, 100, cgroup=cgroup)
    _, said = grower.communicate("\n", timeout=120)
    assert cgroup.kills() >= 1, "the kernel says so"
    assert grower.returncode == 137
    (before,) = dumped(tmp_path, "oom")
    (after,) = dumped(tmp_path, "killed")
    assert "is near the limit: its cgroup has" in said
    assert "was killed when memory ran out" in said
    for path in (before, after):
        assert "INCOMPLETE" not in explained(path)


def test_a_program_that_somebody_else_kills_leaves_nothing(tmp_path: Path) -> None:
    killed = run(
        tmp_path, "oom", "import os, time; x = bytearray(1 << 24); time.sleep(1); os.kill(os.getpid(), 9)"
    )
    _, said = killed.communicate(timeout=60)
    assert killed.returncode == 137
    assert "memory ran out" not in said
    assert not list(tmp_path.iterdir())


def test_refusals() -> None:
    for line, reason in (
        (("count", "--dump-when", "oom", "--", "true"), "--dump-when needs --sample"),
        (("count", "--sample", "1M", "--pid", "1"), "heapwright record --pid"),
        (("count", "--sample", "1M", "--dump-when", "full", "--", "true"), "not 'full'"),
    ):
        result = ask(*line)
        assert (result.returncode, len(result.stderr.splitlines())) == (2, 1), result.stderr
        assert reason in result.stderr
