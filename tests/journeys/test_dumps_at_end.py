# SPDX-License-Identifier: MIT
"""Samples of a program that ends: written at its exit, abort, failed call or SIGTERM, else kept until read."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import command
from counting import ask, checked, environment, folder
from heapwright.cli import schemas
from serving import until

LEAKED_BYTES = 2000 * 10_000
# Leaks, and ends as argv[1] says.
ENDS = """
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <vector>
void* volatile kept;
[[gnu::noinline]] void leak() { for (int i = 0; i < 2000; ++i) kept = std::malloc(10'000); }
int main(int, char** arguments) {
  leak();
  switch (arguments[1][0]) {
    case 'a': std::abort();
    case 'b': { std::vector<char> large; large.resize(1L << 60); break; }
    case 'f': kept = std::malloc(1L << 60); std::getchar(); break;
    case 't': std::puts("up"); std::fflush(stdout); pause(); break;
    case 'h': std::signal(SIGTERM, [](int) { leak(); _exit(0); });
              std::puts("up"); std::fflush(stdout); for (;;) pause();
  }
  return arguments[1][0] == 'f' ? 0 : 3;
}
"""


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("ends") / "ends_somehow"
    line = ["g++", "-O1", "-g", "-x", "c++", "-", "-o", str(program)]
    subprocess.run(line, input=ENDS, text=True, check=True, timeout=120)
    return program


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """One whose processes have a name of their own: other tests count Python's, too."""
    program = tmp_path / f"own_py{os.getpid()}"
    program.symlink_to("/usr/bin/python3")
    return program


def start(cwd: Path, when: tuple[str, ...], *program: object) -> subprocess.Popen[str]:
    options = [word for one in when for word in ("--dump-when", one)]
    line = [str(command), "count", "--sample", "64k", *options, "--", *map(str, program)]
    return subprocess.Popen(
        line, env=environment, cwd=cwd, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip


def live(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(ask("explain", str(path), "--json").stdout)
    return dict(document["summary"])


def kept_files(name: str) -> list[Path]:
    return list(folder.glob(f"heapwright-*.{name}.kept"))


@pytest.mark.parametrize(
    ("how", "code", "kinds"),
    [("e", 3, {"exit"}), ("a", 134, {"exit", "abort"}), ("b", 134, {"exit", "abort", "failed"})],
)
def test_each_end_writes_its_file_with_all_samples(
    ends: Path, tmp_path: Path, how: str, code: int, kinds: set[str]
) -> None:
    run = start(tmp_path, ("exit", "abort", "failed", "sigterm"), ends, how)
    _, said = run.communicate(timeout=60)
    assert run.returncode == code
    found = {path.name.split(".")[-2]: path for path in tmp_path.iterdir()}
    assert found.keys() == kinds, said
    for path in found.values():
        summary = live(path)
        assert summary["live_at_end_bytes"] == pytest.approx(LEAKED_BYTES, rel=0.25)
        assert summary["end"]["reason"] == ("killed" if code == 134 else "exited")
        assert f"heapwright explain {path.name}" in said
    process = next(iter(found.values())).name.split(".")[1]
    kept = [path for path in kept_files("ends_somehow") if path.name.split("-")[1] == process]
    assert not kept, "what was written is not kept as well"


def test_a_failed_call_is_written_while_the_program_runs(ends: Path, tmp_path: Path) -> None:
    run = start(tmp_path, ("failed",), ends, "f")
    (path,) = until(lambda: list(tmp_path.glob("*.failed.heapwright")), seconds=60)
    is_running = run.poll() is None
    _, said = run.communicate("\n", timeout=60)
    assert is_running and run.returncode == 0
    assert "had 1 failed heap call" in said
    assert live(path)["live_at_end_bytes"] >= 0
    assert ask("dump", "ends_somehow", "-o", str(tmp_path / "rest")).returncode == 0, "the end is kept"


@pytest.mark.parametrize(("how", "code"), [("t", 143), ("h", 0)])
def test_sigterm_to_count_is_written_and_passed_on(ends: Path, tmp_path: Path, how: str, code: int) -> None:
    run = start(tmp_path, ("sigterm",), ends, how)
    assert run.stdout is not None
    assert run.stdout.readline() == "up\n"
    run.send_signal(signal.SIGTERM)
    _, said = run.communicate(timeout=60)
    assert run.returncode == code
    (path,) = tmp_path.iterdir()
    assert "gets SIGTERM" in said or "ended by SIGTERM" in said
    assert path.name.endswith(".sigterm.heapwright")
    for left in kept_files("ends_somehow"):
        left.unlink()


@pytest.fixture
def kept(ends: Path, tmp_path: Path) -> Iterator[int]:
    """The process whose samples are kept."""
    run = start(tmp_path, (), ends, "e")
    _, said = run.communicate(timeout=60)
    found = re.search(r"next: heapwright dump (\d+) writes the samples", said)
    assert found is not None, said
    yield int(found[1])
    for left in kept_files("ends_somehow"):
        left.unlink()


@pytest.mark.parametrize("by_name", [True, False])
def test_the_samples_of_an_ended_program_are_kept_until_they_are_read(
    kept: int, tmp_path: Path, by_name: bool
) -> None:
    (file,) = kept_files("ends_somehow")
    assert file.stat().st_mode & 0o777 == 0o600
    assert ask("count", "--sample", "1M", "--", "true").returncode == 0, "the next one leaves it"
    target = tmp_path / "end.heapwright"
    wanted = "ends_somehow" if by_name else str(kept)
    done = ask("dump", wanted, "-o", str(target))
    assert done.returncode == 0, done.stderr
    assert "has ended" in done.stderr
    assert live(target)["live_at_end_bytes"] == pytest.approx(LEAKED_BYTES, rel=0.25)
    again = ask("dump", wanted)
    assert (again.returncode, len(again.stderr.splitlines())) == (2, 1)
    assert not file.exists()


def test_a_file_that_cannot_be_written_leaves_what_is_kept(kept: int, tmp_path: Path) -> None:
    target = tmp_path / "end.heapwright"
    target.write_text("mine")
    assert ask("dump", str(kept), "-o", str(target)).returncode == 2
    assert target.read_text() == "mine"
    assert len(kept_files("ends_somehow")) == 1


PREFORKS = "import os, sys; x = [bytearray(9000) for _ in range(999)]; n = os.fork(); {}; print(1, flush=True); sys.stdin.read()"


def test_dump_and_top_take_a_name_alike(tmp_path: Path, python: Path) -> None:
    # Its threads and its kernel's name are called otherwise.
    renamed = "open('/proc/self/comm', 'w').write('other') if n else os._exit(0)"
    run = start(tmp_path, (), python, "-S", "-c", PREFORKS.format(renamed))
    assert run.stdout is not None
    run.stdout.readline()
    target = tmp_path / "now.heapwright"

    def is_dumped(name: str) -> bool:
        return ask("dump", name, "-o", str(target), "--force").returncode == 0

    for name in (python.name, "other"):
        assert until(lambda name=name: is_dumped(name)), ask("dump", name).stderr
        told = checked(ask("top", name, "--json", "--interval", "0.1").stdout)
        assert live(target)["process_id"] == told["processes"][0]["process"]
    run.communicate(timeout=60)
    for left in kept_files(python.name):
        left.unlink()


def test_of_several_with_a_name_the_sampled_one_is_dumped(tmp_path: Path, python: Path) -> None:
    run = start(tmp_path, (), python, "-S", "-c", PREFORKS.format("bytearray(9000)"))
    assert run.stdout is not None
    run.stdout.readline()
    run.stdout.readline()
    target = tmp_path / "now.heapwright"
    is_dumped = until(lambda: ask("dump", python.name, "-o", str(target), "--force").returncode == 0)
    of_top = checked(ask("top", python.name, "--json").stdout)["processes"]
    run.communicate(timeout=60)
    for left in kept_files(python.name):
        left.unlink()
    assert is_dumped
    assert [row["program"] for row in of_top] == [python.name] * 2


GROWS = """
import sys
kept, static = [], [bytearray(20_000) for _ in range(800)]
def keep(): kept.append(bytearray(50_000))
def churn(): bytearray(60_000)
for _ in sys.stdin:
    for _ in range(400): keep(); churn()
    print("grown", flush=True)
"""


def test_two_dumps_of_a_process_tell_what_grew_between(tmp_path: Path, python: Path) -> None:
    run = start(tmp_path, ("exit",), python, "-S", "-c", GROWS)
    assert run.stdin is not None
    assert run.stdout is not None

    def grow() -> None:
        assert run.stdin is not None
        assert run.stdout is not None
        run.stdin.write("\n")
        run.stdin.flush()
        assert run.stdout.readline() == "grown\n"

    def dumped(name: str, least: int) -> Path:
        path = tmp_path / name

        def is_told() -> bool:
            done = ask("dump", python.name, "-o", str(path), "--force")
            return done.returncode == 0 and live(path)["live_at_end_bytes"] > least

        assert until(is_told)
        return path

    grow()
    a = dumped("a.heapwright", 30_000_000)
    grow()
    b = dumped("b.heapwright", 50_000_000)
    run.communicate(timeout=60)
    document = checked_moments(ask("compare", str(a), str(b), "--json").stdout)
    (site,) = document["sites"]
    assert site["function"] == "keep"
    assert site["difference_bytes"] == pytest.approx(400 * 50_057, rel=0.2)
    assert site["low_bytes"] <= 400 * 50_057 <= site["high_bytes"]
    assert document["total"]["difference_bytes"] == pytest.approx(site["difference_bytes"], rel=0.1)
    screen = ask("compare", str(a), str(b)).stdout
    assert "live bytes grew by" in screen and "of it at keep" in screen
    assert "keep" in ask("compare", str(a), str(b), "--md").stdout
    for line, reason in (
        ((str(b), str(a)), "name the earlier one first"),
        ((str(a), str(b), "--per-second"), "--per-second applies to different runs"),
        ((str(a), str(a)), "cannot be compared"),
    ):
        refused = ask("compare", *line)
        assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
        assert reason in refused.stderr
    (end,) = tmp_path.glob("*.exit.heapwright")
    fell = checked_moments(ask("compare", str(a), str(end), "--json").stdout)
    assert fell["total"]["high_bytes"] < 0, "the exit frees them"


def checked_moments(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    assert document["schema"] == "heapwright.compare-moments/1"
    jsonschema.validate(document, schemas.of("compare-moments"))
    return document
