# SPDX-License-Identifier: MIT
"""Remedies for call sites, applied to the unchanged program by a preloaded library."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import Record, build, collector, programs
from heapwright.cli import native_programs, run_command

library = build / "lib/libheapwright-apply.so"
JEMALLOC = Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")


@pytest.fixture(autouse=True)
def _use_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEAPWRIGHT_BIN", str(collector.parent))


def kept(record: Record, folder: Path, remedies: Sequence[str], *program: object) -> Path:
    """A remedy file, of a recording made now."""
    name, *arguments = program
    recorded = record(str(name), *arguments)
    assert recorded.status == 0, recorded.errors
    trace = next(path for path in recorded.paths() if path.name.startswith(str(name)[:15]))
    words = [word for remedy in remedies for word in ("--remedy", remedy)]
    assert run_command(["keep", str(trace), *words, "-o", str(folder / "remedy.toml"), "--force"]) == 0
    return folder / "remedy.toml"


class Applied:
    """A run with a remedy file: its output, its errors' lines, and its highest resident set."""

    def __init__(self, remedy: Path | None, *line: object, **variables: str) -> None:
        environment = {**os.environ, "LD_PRELOAD": str(library), "HEAPWRIGHT_APPLY_STATS": "1", **variables}
        if remedy is not None:
            environment["HEAPWRIGHT_APPLY"] = str(remedy)
        path, *arguments = line
        program = path if isinstance(path, Path) else programs / str(path)
        done = subprocess.run(
            [program, *map(str, arguments)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        self.code, self.output = done.returncode, done.stdout
        self.errors = done.stderr.splitlines()

    def figures(self, remedy: str) -> dict[str, int]:
        """By name, of a remedy's line."""
        line = next(line for line in self.errors if line.startswith(f"heapwright: {remedy}: "))
        names = ("made", "again", "later", "refused", "left", "live", "live_bytes", "held_bytes")
        return dict(zip(names, map(int, re.findall(r"\d+", line.partition(": ")[2])), strict=True))


@pytest.mark.parametrize(("change", "large"), [("segregate", "reuse"), ("defer", "defer")])
def test_every_way_to_use_a_block_is_right_beside_threads_forks_and_libraries(
    record: Record, tmp_path: Path, change: str, large: str
) -> None:
    sites = [f"in_{name}" for name in ("plain", "zeroed", "moved", "aligned", "new", "text")]
    remedies = [*(f"{change}@{site}" for site in sites), f"{large}@in_large", f"{change}@plugin_allocate"]
    plugin = programs / "plugin.so"
    remedy = kept(record, tmp_path, remedies, "applied_storm", 300, plugin)
    applied = Applied(remedy, "applied_storm", 3000, plugin)
    assert applied.code == 0, applied.errors
    for one in remedies:
        figures = applied.figures(one)
        assert figures["made"] > 50, one
        assert figures["refused"] == figures["left"] == 0, one
        assert figures["live"] <= (figures["later"] if change == "defer" else 0), one
        assert (figures["later"] > 50) == (change == "defer"), one
    if large == "reuse":
        assert applied.figures("reuse@in_large")["again"] > 100
    # Loaded three times twenty times, and looked for after each time.
    assert applied.figures(f"{change}@plugin_allocate")["made"] == 120


def test_only_calls_on_the_named_way_are_changed(record: Record, tmp_path: Path) -> None:
    """The ways share the function that calls malloc; the frame around it tells them apart."""
    remedies = ["segregate@in_one_way,in_other_way", "reuse@in_odd_frame"]
    without_loads = ""  # beside them a call may go by its site
    remedy = kept(record, tmp_path, remedies, "applied_storm", 300, without_loads)
    applied = Applied(remedy, "applied_storm", 1000, without_loads)
    ways = list(map(int, applied.output.split()))
    assert [applied.figures(one)["made"] for one in remedies] == [
        ways[0] + ways[1],
        ways[2],
    ]
    assert min(ways) > 500


# In between, since a process counts what its parent had when it was started.
STARTER = """
import os, sys
process = os.posix_spawnp("env", ["env", *sys.argv[1:]], os.environ, file_actions=[(os.POSIX_SPAWN_CLOSE, 1)])
_, status, usage = os.wait4(process, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024)
"""


def highest_bytes(line: Sequence[object], environment: dict[str, str]) -> int:
    """The kernel's own figure of one run."""
    variables = [f"{name}={value}" for name, value in environment.items()]
    starter = [sys.executable, "-ISc", STARTER, *variables, *map(str, line)]
    said = subprocess.run(starter, capture_output=True, text=True, timeout=120, check=True).stdout
    code, highest = map(int, said.split())
    assert code == 0
    return highest


def test_a_site_that_pins_memory_gives_back_what_the_change_by_hand_does(
    record: Record, tmp_path: Path
) -> None:
    remedy = kept(record, tmp_path, ["segregate@make_session"], "changed_loads", "sessions", "heap", 60)
    line = [programs / "changed_loads", "sessions", "heap", "100"]
    by_hand = [programs / "changed_loads", "sessions", "segregate", "100"]
    alone = highest_bytes(line, {})
    gain_by_hand = alone - highest_bytes(by_hand, {})
    applied = {"LD_PRELOAD": str(library), "HEAPWRIGHT_APPLY": str(remedy)}
    gain = alone - highest_bytes(line, applied)
    assert gain_by_hand > 10 << 20
    assert gain >= 0.8 * gain_by_hand


def test_try_applies_it_and_measures(
    record: Record, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = [str(programs / "changed_loads"), "sessions", "heap", "60"]
    trace = record("changed_loads", *line[1:]).paths()[0]
    capsys.readouterr()
    words = ["--remedy", "segregate@make_session", "--runs", "2", "--unchecked", "--json"]
    assert run_command(["try", str(trace), *words, "--", *line]) == 0
    as_it_is, tried = json.loads(capsys.readouterr().out)["remedies"]
    assert (as_it_is["remedy"], tried["remedy"], tried["failure"]) == ("", "segregate@make_session", "")
    assert tried["figures"]["peak_bytes"]["difference"] < -(8 << 20)
    assert (trace.parent / f"{trace.stem}.segregate@make_session.toml").exists()


def test_an_idle_program_gives_back_what_it_freed(record: Record, tmp_path: Path) -> None:
    remedy = kept(record, tmp_path, ["trim:20"], "idles", 10)
    assert Applied(None, "idles", 300).output == "kept\n"
    applied = Applied(remedy, "idles", 60_000)
    assert (applied.code, applied.output) == (0, "returned\n")
    assert [
        line for line in applied.errors if re.fullmatch(r"heapwright: trim:20: [1-9]\d* times trimmed", line)
    ]
    assert len(applied.errors) == 1


@pytest.mark.skipif(not JEMALLOC.exists(), reason="needs another allocator")
def test_another_allocator_is_not_trimmed_by_the_c_librarys_function(tmp_path: Path) -> None:
    remedy = tmp_path / "remedy.toml"
    remedy.write_text('version = 1\n[[remedy]]\nchange = "trim"\nevery_ms = 20\n')
    applied = Applied(remedy, "idles", 60, LD_PRELOAD=f"{library}:{JEMALLOC}")
    assert applied.errors[0].endswith(
        "this allocator has no malloc_trim, or there can be no thread; trim is off"
    )
    assert all(" times trimmed" in line for line in Applied(remedy, "idles", 60).errors)


def test_what_was_done_goes_to_a_file_that_is_there(tmp_path: Path) -> None:
    """A program's standard error may be its output, or what it reads again."""
    remedy, deeds = tmp_path / "remedy.toml", tmp_path / "deeds"
    remedy.write_text(SKIPS + '[[remedy]]\nchange = "trim"\nevery_ms = 3600000\n')
    for is_there in (False, True, True):
        if is_there:
            deeds.touch()
        assert Applied(remedy, Path("/bin/true"), HEAPWRIGHT_APPLY_STATS=str(deeds)).errors == []
        assert deeds.exists() == is_there
    line = re.compile(r"heapwright: (skip-frees-at-exit: \d+ frees skipped|trim:3600000: 0 times trimmed)")
    lines = deeds.read_text().splitlines()
    assert len(lines) == 4 and all(map(line.fullmatch, lines)), lines


def skipped(applied: Applied) -> int:
    """How many frees, by its line; 0 without one."""
    lines = [line for line in applied.errors if "frees skipped" in line]
    return int(lines[0].split()[2]) if lines else 0


SKIPS = 'version = 1\n[[remedy]]\nchange = "skip-frees-at-exit"\n'
ROWS = 100_000  # of ends_by, two blocks each


@pytest.mark.parametrize("how", ["return", "exit", "thread"])
@pytest.mark.parametrize("then", ["nothing", "works", "forks", "opens"])
def test_frees_at_exit_are_skipped_and_nothing_else_changes(tmp_path: Path, how: str, then: str) -> None:
    remedy = tmp_path / "remedy.toml"
    remedy.write_text(SKIPS)
    alone, applied = Applied(None, "ends_by", how, then), Applied(remedy, "ends_by", how, then)
    assert (alone.code, alone.errors, applied.code) == (0, [], 0)
    grew = [int(line.split()[-1]) for line in applied.output.splitlines() if "grew" in line]
    without = [[line for line in one.output.splitlines() if "grew" not in line] for one in (alone, applied)]
    assert without[0] == without[1]
    if then == "works":  # an exit handler that makes and frees 400 MiB
        assert 1000 < skipped(applied) < ROWS
        assert grew[0] < 80 << 20
    else:
        assert skipped(applied) >= 2 * ROWS
    if then == "forks":  # the child frees
        assert grew[0] < 8 << 20


def test_no_free_is_skipped_where_memory_is_limited(tmp_path: Path) -> None:
    remedy = tmp_path / "remedy.toml"
    remedy.write_text(SKIPS)
    for limit in ("-v", "-d"):
        line = f"ulimit {limit} 4000000; exec {programs / 'ends_by'} return nothing"
        applied = Applied(remedy, Path("/bin/sh"), "-c", line)
        assert (applied.code, applied.errors) == (0, ["heapwright: skip-frees-at-exit: 0 frees skipped"])


def test_a_table_that_goes_is_freed_later(record: Record, tmp_path: Path) -> None:
    remedy = kept(record, tmp_path, ["defer@make_row"], "changed_loads", "tables", "heap", 3)
    alone, applied = (Applied(one, "changed_loads", "tables", "heap", 12) for one in (None, remedy))
    assert (applied.code, applied.output) == (0, alone.output)
    figures = applied.figures("defer@make_row")
    assert 0.9 * figures["made"] < figures["later"] <= figures["made"]


def test_bad_files_are_told_in_one_line_and_the_program_runs(tmp_path: Path) -> None:
    for text, said in (
        (None, "cannot be opened"),
        ("", "1: no version: this is no remedy file"),
        ("version = 1\n[[remedy]]\nchange = 'x'\n", "3: expected a text in double quotes"),
        ("version = 1\n" + "#" * 300_000, "is longer than 256 KiB"),
        ("\0\xff" * 100, "1: expected name = value, with a name that is known here"),
    ):
        file = tmp_path / "remedy.toml"
        file.unlink(missing_ok=True)
        if text is not None:
            file.write_text(text)
        applied = Applied(file, "pairs", 1)
        separator = "" if said[0] == "1" or said[0] == "3" else " "
        assert applied.code == 0
        assert applied.errors == [f"heapwright: {file}:{separator}{said}; no remedy is applied"]


def test_another_build_is_told_once_and_runs_as_it_is(record: Record, tmp_path: Path) -> None:
    remedy = kept(record, tmp_path, ["segregate@make_session"], "changed_loads", "sessions", "heap", 60)
    text = remedy.read_text()
    build_id = re.findall(r'build_id = "(..)', text)[0]
    other = "00" if build_id != "00" else "11"
    remedy.write_text(text.replace(f'build_id = "{build_id}', f'build_id = "{other}'))
    applied = Applied(remedy, "changed_loads", "sessions", "heap", 20)
    off = "heapwright: segregate@make_session is off: changed_loads was built anew; record it and keep it"
    assert applied.code == 0
    assert [line for line in applied.errors if "is off" in line] == [off]
    assert applied.figures("segregate@make_session")["made"] == 0
    # Programs that it is not about say nothing.
    other_program = Applied(remedy, Path("/bin/true"), HEAPWRIGHT_APPLY_STATS="0")
    assert (other_program.code, other_program.errors) == (0, [])


def test_without_address_space_the_programs_own_allocator_serves(record: Record, tmp_path: Path) -> None:
    remedy = kept(record, tmp_path, ["segregate@make_session"], "changed_loads", "sessions", "heap", 60)
    line = f"ulimit -v 200000; exec {programs / 'changed_loads'} sessions heap 60"
    applied = Applied(remedy, Path("/bin/sh"), "-c", line)
    assert (applied.code, applied.output) == (0, "3000\n"), applied.errors


def test_a_program_with_its_own_malloc_is_left_alone(record: Record, tmp_path: Path) -> None:
    remedy = kept(record, tmp_path, ["segregate@make_session"], "changed_loads", "sessions", "heap", 60)
    without_file = Applied(None, "own_realloc")
    assert (without_file.code, without_file.output) == (0, "as it was, in its own memory\n")
    trims = tmp_path / "trims.toml"
    trims.write_text('version = 1\n[[remedy]]\nchange = "trim"\nevery_ms = 20\n')
    for file in (remedy, trims):
        applied = Applied(file, "own_malloc")
        assert applied.code == 0
        assert applied.errors[0].endswith("has its own malloc before this one; no remedy is applied")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a program of another user's")
def test_a_setuid_program_ignores_the_file(tmp_path: Path) -> None:
    """Linked with the library: a preloaded one of this folder it would not get."""
    source, program = tmp_path / "elevated.c", tmp_path / "elevated"
    source.write_text(
        '#include <stdio.h>\n#include <sys/auxv.h>\nint main(void) { printf("%lu\\n", getauxval(AT_SECURE)); }\n'
    )
    subprocess.run(["gcc", source, "-o", program, "-Wl,--no-as-needed", library], check=True, timeout=60)
    variables = {"HEAPWRIGHT_APPLY": str(tmp_path / "missing.toml")}

    def run() -> tuple[str, str]:
        done = subprocess.run(
            [program], env=variables, capture_output=True, text=True, check=True, timeout=20
        )
        return done.stdout, done.stderr

    output, errors = run()
    assert output == "0\n"
    assert "missing.toml: cannot be opened" in errors
    os.chown(program, 65534, 65534)
    program.chmod(stat.S_ISUID | 0o755)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    output, errors = run()
    if output == "0\n":
        pytest.skip("the temporary folder does not let programs be setuid")
    assert (output, errors) == ("1\n", "")


def test_what_keep_cannot_do_is_told_in_one_line(
    record: Record, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = record("changed_loads", "sessions", "heap", 20).paths()[0]
    capsys.readouterr()
    for remedy, said in (
        ("segregate@make_sessiom", "no call site make_sessiom in the recording; did you mean "),
        ("arena@make_session", "no remedy 'arena@make_session'; a remedy is "),
        ("on:jemalloc", "on:jemalloc: set: and on: need no file; heapwright try --remedy says how to keep them"),
        ("segregate@,", "segregate@,: name a call site, as in segregate@parse_line"),
        ("trim:1", "trim:1: trim takes milliseconds from 10 to 3600000, as in trim:1000"),
        ("segregate@make_session+reuse@make_session",
         "reuse@make_session and segregate@make_session are about the same calls"),
    ):  # fmt: skip
        assert run_command(["keep", str(trace), "--remedy", remedy, "-o", str(tmp_path / "r.toml")]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"heapwright: {said}"), error
        assert error.count("\n") == 1
    words = ["--remedy", "segregate@make_session+trim:500", "-o", str(tmp_path / "r.toml")]
    assert run_command(["keep", str(trace), *words]) == 0
    in_code = re.findall(r"or in code: (.*)", capsys.readouterr().out)
    assert re.search(r"private_heap.* at .*make_session .*changed_loads\.cpp:\d+$", in_code[0])
    assert in_code[1].startswith("malloc_trim(0)")
    (tmp_path / "r.toml").unlink()
    monkeypatch.setattr(native_programs, "_folders", lambda _kind: [])  # as make run installs it
    words = ["--remedy", "segregate@make_session", "-o", str(tmp_path / "r.toml")]
    assert run_command(["keep", str(trace), *words]) == 2
    assert "libheapwright-apply.so is not built yet" in capsys.readouterr().err
    assert not (tmp_path / "r.toml").exists()


def page_of(process: int) -> Path:
    return Path(f"/dev/shm/heapwright-{process}.apply")


def test_top_shows_what_a_remedy_does_and_the_page_goes_with_the_process(
    record: Record, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    remedy = kept(record, tmp_path, ["segregate@survivor"], "keeps_memory", "alike")
    environment = {**os.environ, "LD_PRELOAD": str(library), "HEAPWRIGHT_APPLY": str(remedy)}
    line = [str(programs / "keeps_memory"), "alike"]
    with subprocess.Popen(line, env=environment, stdout=subprocess.DEVNULL) as process:
        page = page_of(process.pid)
        deadline_s = time.monotonic() + 60
        rows: list[dict[str, object]] = []
        while not (rows and rows[0]["made"] == 10_000) and time.monotonic() < deadline_s:
            capsys.readouterr()
            assert run_command(["top", "--once", "--json", "--interval", "0.1s", str(process.pid)]) == 0
            rows = json.loads(capsys.readouterr().out).get("remedies", [])
        assert [row["remedy"] for row in rows] == ["segregate@survivor"]
        assert rows[0]["refused"] == rows[0]["left"] == 0 and rows[0]["held_bytes"]
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert not page.exists()
    with subprocess.Popen(line, env=environment, stdout=subprocess.DEVNULL) as process:
        page = page_of(process.pid)
        while not page.exists() and process.poll() is None:
            time.sleep(0.005)
        process.kill()
    assert page.exists()  # the next top removes it
    page.unlink()


@pytest.mark.parametrize(("before", "pages"), [("true", 1), ("ulimit -f 0", 0)])
def test_only_the_remedys_program_has_a_page_and_none_where_files_are_small(
    record: Record, tmp_path: Path, before: str, pages: int
) -> None:
    """A file that is too large for the limit would end the program."""
    remedy = kept(record, tmp_path, ["segregate@survivor"], "keeps_memory", "alike")
    run = f"{before}; {programs}/keeps_memory alike > /dev/null & sleep 1; ls /dev/shm; wait $! && echo done $$ $!"
    done = Applied(remedy, Path("/bin/bash"), "-c", run)
    *files, last = done.output.splitlines()
    word, shell, process = last.split()
    assert (done.code, word) == (0, "done")
    assert files.count(f"heapwright-{process}.apply") == pages
    assert f"heapwright-{shell}.apply" not in files


def test_forked_children_leave_no_page_behind(record: Record, tmp_path: Path) -> None:
    plugin = programs / "plugin.so"
    remedy = kept(record, tmp_path, ["segregate@in_plain"], "applied_storm", 300, plugin)
    before = set(Path("/dev/shm").glob("heapwright-*.apply"))
    done = Applied(remedy, "applied_storm", 1000, plugin)
    assert done.code == 0 and done.figures("segregate@in_plain")["made"], done.errors
    assert not [
        page for page in set(Path("/dev/shm").glob("heapwright-*.apply")) - before if not is_alive(page)
    ]


def is_alive(page: Path) -> bool:
    return Path(f"/proc/{page.name.removeprefix('heapwright-').removesuffix('.apply')}").exists()
