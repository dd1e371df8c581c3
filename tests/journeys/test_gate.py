# SPDX-License-Identifier: MIT
"""Budgets of real programs: the same verdict each time, a regression caught and named, and CTest."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import Record, collector, command, programs, project
from heapwright.cli import run_command

THREADS = [str(programs / "pairs"), "2000", "5", "4"]


@pytest.fixture(autouse=True)
def _use_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEAPWRIGHT_BIN", str(collector.parent))


def gate(budget: Path, program: Sequence[str], *words: str) -> int:
    return run_command(["gate", str(budget), *words, "--", *program])


def test_ten_runs_of_a_threaded_program_give_one_verdict(tmp_path: Path) -> None:
    budget = tmp_path / "heap.toml"
    # 1,000 pairs before the threads, 2,000 in each of four, and what the C++ library and threads ask for.
    budget.write_text("[program]\ncalls = 0\nbytes = 0\n[[site]]\nname = 'run_at_depth'\ncalls = 0\n")
    assert gate(budget, THREADS, "--accept", "--reason", "first") == 0
    text = budget.read_text()
    assert "name = 'run_at_depth'\ncalls = 9000\n" in text
    assert [gate(budget, THREADS) for _ in range(10)] == [0] * 10
    budget.write_text(text.replace("calls = 9000\n", "calls = 8999\n"))
    assert [gate(budget, THREADS) for _ in range(10)] == [1] * 10


def test_ten_runs_give_one_verdict_on_the_peak_of_threads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In each of 20 rounds, four threads hold 100 blocks each at the same time."""
    threads, budget = [str(programs / "threads_meet"), "4", "20"], tmp_path / "heap.toml"
    held = 100 * (4 * 3001 + 16 * (0 + 1 + 2 + 3))
    budget.write_text("[program]\npeak_live_bytes = 0\n")
    assert gate(budget, threads, "--json") == 1
    peak = json.loads(capsys.readouterr().out)["checks"][0]["value"]
    assert held < peak < held + 100_000  # beside them, what the C++ library has and threads are made of

    def limits(less: int) -> None:
        budget.write_text(
            f"[program]\npeak_live_bytes = {peak - less}\n"
            f"[[site]]\nname = 'hold'\ncalls = 8000\npeak_live_bytes = {held - less}\nlive_at_end_bytes = 0\n"
        )

    limits(0)
    assert [gate(budget, threads) for _ in range(10)] == [0] * 10
    limits(1)
    capsys.readouterr()
    for _ in range(10):
        assert gate(budget, threads, "--json") == 1
        checks = json.loads(capsys.readouterr().out)["checks"]
        assert [check["value"] for check in checks] == [peak, 8000, held, 0]
        assert [check["verdict"] for check in checks] == ["over", "within", "over", "within"]


def test_one_allocation_per_row_of_sqlite3_is_caught_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "rows.sql"
    script.write_text(f".read {project / 'examples/orders.sql'}\nSELECT sum(tag(id)) FROM orders;\n")
    extension, budget, sarif = tmp_path / "row.so", tmp_path / "heap.toml", tmp_path / "heap.sarif"
    sqlite = ["sqlite3", ":memory:", f".load {extension}", f".read {script}"]
    extension.write_bytes((programs / "row_cheap.so").read_bytes())
    assert gate(budget, sqlite, "--accept", "--reason", "first") == 0
    assert gate(budget, sqlite) == 0
    extension.write_bytes((programs / "row_costly.so").read_bytes())
    capsys.readouterr()
    assert gate(budget, sqlite, "--json", "--sarif", str(sarif)) == 1
    checks = {check["figure"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["calls"]["value"] - checks["calls"]["limit"] == 40_000
    (site,) = checks["calls"]["sites"]
    assert (site["name"], site["difference"], site["is_new"]) == ("tag_row", 40_000, True)
    assert checks["peak_live_bytes"]["verdict"] == "within"
    place = json.loads(sarif.read_text())["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("tests/programs/row_cost.cpp")


def test_a_phase_has_limits(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    budget = tmp_path / "heap.toml"
    budget.write_text("[[phase]]\nname = 'sixteen letters!'\ncalls = 1\nbytes = 4001\n")
    assert gate(budget, [str(programs / "annotates")]) == 0
    budget.write_text("[[phase]]\nname = 'sixteen letters!'\ncalls_per_run = 0\n")
    assert gate(budget, [str(programs / "annotates")]) == 1


def test_named_budgets_are_scopes_of_the_file(
    record: Record, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What heap_budget counts and what the recording says of it are the same; each limit holds an opening."""
    pytest.importorskip("duckdb")
    recording = record("budget_scopes")
    path, budget = str(recording.paths()[0]), tmp_path / "heap.toml"
    said = {
        name: {"calls": recording.note(f"{name}_calls"), "bytes": recording.note(f"{name}_bytes")}
        for name in ("parse", "inner", "threads")
    }
    said["parse"] |= {"live_at_end_bytes": 3011, "live_at_end_blocks": 1}
    said["inner"] |= {"live_at_end_bytes": 0, "peak_live_bytes": 3001}

    def gated(less: int) -> tuple[int, dict[str, dict[str, int]]]:
        rules = (
            f"[[scope]]\nname = '{name}'\n"
            + "".join(f"{key} = {max(0, value - less)}\n" for key, value in figures.items())
            for name, figures in said.items()
        )
        budget.write_text("".join(rules))
        code = run_command(["gate", str(budget), path, "--json"])
        checks = json.loads(capsys.readouterr().out)["checks"]
        found: dict[str, dict[str, int]] = {name: {} for name in said}
        for check in checks:
            assert check["verdict"] == ("over" if less and check["limit"] < check["value"] else "within")
            found[check["name"]][check["figure"]] = check["value"]
        return code, found

    assert gated(0) == (0, said)
    assert gated(1) == (1, said)
    assert run_command(["gate", str(budget), path, "--accept", "--reason", "a field more"]) == 0
    for scope in tomllib.loads(budget.read_text())["scope"]:
        own = said[scope["name"]]
        assert (scope["calls"], scope["bytes"], scope["reason"]) == (
            own["calls"],
            own["bytes"],
            "a field more",
        )
    budget.write_text("[[scope]]\nname = 'parze'\ncalls = 1\n")
    assert run_command(["gate", str(budget), path]) == 2
    assert "no scope is called parze; there are inner, parse, threads" in capsys.readouterr().err


# The first test of a framework has allocations of its own, and a name above 15 letters is a block.
CATCH2 = (
    'TEST_CASE("First.test") {}\nTEST_CASE("Parser.none") {}\n'
    'TEST_CASE("Parser.one") { void* volatile block = std::malloc(10); std::free(block); }\n'
)
LISTENED = {
    "gtest/gtest.h": (
        "TEST(First, test) {}\nTEST(Parser, none) {}\n"
        "TEST(Parser, one) { void* volatile block = std::malloc(10); std::free(block); }\n",
        ["-lgtest", "-lpthread"],
    ),
    "catch2/catch.hpp": (CATCH2, []),
    "catch2/catch_all.hpp": (CATCH2, ["-lCatch2Main", "-lCatch2"]),
}


def has_header(name: str) -> bool:
    asks = f"#if !__has_include(<{name}>)\n#error\n#endif\n"
    line = ["c++", "-x", "c++", "-fsyntax-only", "-"]
    return subprocess.run(line, input=asks, text=True, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("framework", LISTENED)
def test_limits_of_each_test(framework: str, tmp_path: Path) -> None:
    """The listeners that docs/gate.md shows."""
    pytest.importorskip("duckdb")
    if not has_header(framework):
        pytest.skip(f"{framework} is not installed")
    blocks = (project / "docs/gate.md").read_text(encoding="utf-8").split("```cpp\n")[1:]
    listener = next(block.partition("```")[0] for block in blocks if framework in block)
    tests, libraries = LISTENED[framework]
    (tmp_path / "tests.cpp").write_text(f"{listener}{tests}")
    words = ["-std=c++20", "-fno-builtin", f"-I{project / 'include'}", "tests.cpp", "-o", "tests"]
    subprocess.run(["c++", *words, *libraries], cwd=tmp_path, check=True)
    budget = tmp_path / "heap.toml"

    def calls(test: str, limit: int) -> int:
        budget.write_text(f"[[phase]]\nname = 'Parser.{test}'\ncalls_per_run = {limit}\n")
        return gate(budget, [str(tmp_path / "tests")])

    least = next(limit for limit in range(50) if calls("none", limit) == 0)
    assert calls("one", least) == 1
    assert calls("one", least + 1) == 0


USER = """cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES CXX)
enable_testing()
find_package(heapwright 1.0 REQUIRED)
add_executable(shop shop.cpp)
heapwright_add_gate(kept BUDGET kept.toml COMMAND shop 3 RUNS 2 JUNIT ${CMAKE_BINARY_DIR}/kept.xml)
heapwright_add_gate(broken BUDGET broken.toml COMMAND shop 3 TOOLCHAIN any)
"""
SHOP = """#include <cstdlib>
[[gnu::noinline]] void serve() { void* volatile block = std::malloc(10); std::free(block); }
int main(int, char** words) { for (int i = std::atoi(words[1]); i > 0; --i) serve(); }
"""


@pytest.mark.skipif(not command.exists(), reason="heapwright is not installed into .venv")
def test_cmake_and_ctest(tmp_path: Path) -> None:
    def run(*words: object, code: int = 0, **variables: str) -> str:
        environment = {**os.environ, **variables, "HEAPWRIGHT_BIN": str(collector.parent)}
        done = subprocess.run(
            [str(word) for word in words],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
            timeout=300,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    run("cmake", "-S", project, "-B", tmp_path / "parts", "-DHEAPWRIGHT_PARTS_ONLY=ON")
    run("cmake", "--install", tmp_path / "parts", "--prefix", tmp_path / "prefix")
    user = tmp_path / "user"
    user.mkdir()
    (user / "CMakeLists.txt").write_text(USER)
    (user / "shop.cpp").write_text(SHOP)
    (user / "kept.toml").write_text("[[site]]\nname = 'serve'\ncalls = 3\n")
    (user / "broken.toml").write_text(
        "[[site]]\nname = 'serve'\ncalls = 3\n[[toolchain.any.site]]\nname = 'serve'\ncalls = 2\n"
    )
    configure = ["cmake", "-S", user, "-B", user / "build", f"-DCMAKE_PREFIX_PATH={tmp_path / 'prefix'}"]
    said = run(*configure, code=1, PATH="/usr/bin:/bin")
    assert "no command heapwright on the PATH" in " ".join(said.split())
    run(*configure, f"-DHEAPWRIGHT_COMMAND={command}")
    run("cmake", "--build", user / "build")
    said = run("ctest", "--test-dir", user / "build", "--output-on-failure", code=8)
    assert "1 tests failed out of 2" in said
    assert "site serve: allocations 3, 1 above the limit of 2: at serve" in " ".join(said.split())
    assert 'failures="0"' in (user / "build/kept.xml").read_text()


def test_a_limit_of_a_site_needs_stacks_that_reach_it(
    tmp_path: Path, record: Record, capsys: pytest.CaptureFixture[str]
) -> None:
    """Allocations whose stacks are cut within a library of the system may be of any site."""
    path = record("libc_allocates", options=["--max-frames", "1"]).paths()[0]
    budget = tmp_path / "heap.toml"
    site = "[[site]]\nname = 'main'\noptional = true\n"

    def status(text: str, *words: str) -> int:
        budget.write_text(text)
        return run_command(["gate", str(budget), str(path), *words])

    assert status(f"{site}calls = 5\n") == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "site main: allocations may be above its limit, as" in said
    assert "they are deeper than the limit (--max-frames)" in said
    assert status(f"{site}calls = 5\n", "--anyway") == 0
    assert status(f"{site}calls = 100000\n") == 0
    assert status("[program]\ncalls = 100000\n") == 0
