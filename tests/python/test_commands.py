# SPDX-License-Identifier: MIT
# length: a line for each wrong input of each command
"""What the commands say, above all to wrong input: one line, exit code 2."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest
from heapwright.cli import run_command
from heapwright.cli.errors import InputError
from written_traces import Command, small_trace

ENTRY = "from heapwright.__main__ import main; main()"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("explian x", "unknown command explian; did you mean explain?"),
        ("explain", "missing argument 'FILE'; see heapwright explain --help"),
        ("explain --tops 3 {trace}", "unknown option --tops; did you mean --top?"),
        ("explain {folder}/gone", "no such file: {folder}/gone; heapwright record writes one"),
        ("info {folder}", "{folder} holds 1 trace, but this command takes one: {trace} (server)"),
        ("replay {folder}/..", "{folder}/.. is a folder without traces; name a trace file"),
        ("explain --top 0 {trace}", "--top takes a number of at least 1"),
        ("explain --question pek {trace}", "unknown question pek; did you mean peak?"),
        ("explain --from 2s --until 1s {trace}", "--from must be before --until"),
        ("explain --from 2s {trace}", "--from 2.00 s is after the recording's end, which is 10.0 ms after its start"),
        ("export --from 2s --to pprof {trace}", "--from 2.00 s is after the recording's end, which is 10.0 ms after its start"),
        ("explain --from soon {trace}", "--from takes a time such as 2.5s, 300ms or 10m, not 'soon'"),
        ("explain --min-block 3q {trace}", "--min-block takes a number of bytes such as 4096, 64k or 2M, not '3q'"),
        ("explain --min-block 2k --max-block 1k {trace}", "--min-block must not exceed --max-block"),
        ("explain --site ( {trace}",
         "--site takes a regular expression; '(' is not valid: missing ), unterminated subpattern at position 0"),
        ("explain --site nowhere {trace}", "--site nowhere matches none of the 4 call sites in server.heapwright"),
        ("explain --library libz {trace}", "--library libz matches none of the 4 call sites in server.heapwright"),
        ("explain --thread 9 {trace}",
         "--thread 9 matches none of the 2 threads; use a number from heapwright info, or a name (main, worker)"),
        ("explain --site-depth 0 {trace}", "--site-depth takes a number of at least 1"),
        ("explain --by line {trace}", "--by takes site, type or context, not 'line'"),
        ("explain --by type --html page.html {trace}", "--by type prints tables: omit --html"),
        ("explain --by type --question cause {trace}",
         "--by type is for the questions peak, leaks, volume, calls, temporaries, time, lifetimes, overhead: "
         "omit cause"),
        ("explain --debug-root {folder}/no {trace}", "--debug-root {folder}/no is not a folder"),
        ("sql {trace} {{select sise from event}}", "unknown column sise; did you mean size?"),
        ("sql {trace} {{select e.sise from event e}}", "unknown column sise; did you mean size?"),
        ("sql {trace} {{select * from evnt}}", "unknown table evnt; did you mean event?"),
        ("sql {trace} {{selec 1}}", 'syntax error at or near "selec"'),
        ("sql --csv --json {trace} {{select 1}}", "--csv and --json are mutually exclusive"),
        ("export {trace} --to pprf", "unknown format pprf; did you mean pprof?"),
        ("export {trace} --to folded --measure leak", "unknown measure for folded leak; did you mean leaked?"),
        ("export {trace} --to perfetto --measure peak", "--measure does not apply to perfetto"),
        ("export {trace} --to parquet --table evnt", "unknown table evnt; did you mean event?"),
        ("export {trace} --to folded -o {folder}/no/x", "no folder {folder}/no for x; create it first"),
        ("record", "name a program to record: heapwright record [options] -- PROGRAM [ARGUMENTS]"),
        ("record --childen -- true", "unknown option --childen; did you mean --children?"),
        ("record -- {folder}/gone", "there is no program '{folder}/gone'; check the name"),
        ("explain --to 1s {trace}", "unknown option --to; use --until"),
        ("explain --max-size 1k {trace}", "unknown option --max-size; use --max-block"),
        ("explain --site {{}} {trace}", "--site must not be empty"),
        ("explain --thread {{}} {trace}", "--thread must not be empty"),
        ("record --sample {{}} -- true", "--sample must not be empty"),
        ("sql {trace} {{}}", "the query is empty; try: select * from event limit 5"),
        ("sql {trace} {{;}}", "the query is empty; try: select * from event limit 5"),
        ("sql {trace} {{select error('late') from event}}", "Invalid Input Error: late"),
        ("sql --csv {trace} {{select case when sequence > 3 then error('late') end from event}}",
         "Invalid Input Error: late"),
        ("export {trace} --to pprof -o {trace} --force",
         "{trace} is the trace itself; name another file with --output"),
        ("export {trace} --to pprof --table block", "--table does not apply to pprof"),
        ("export {trace} --to pprof --json -o -",
         "--json and --output - both write to standard output; name a file with --output"),
        ("lab latency --json --html -", "--json and --html - both write to standard output; name a file with --html"),
        ("run --html page.html --json --over-time --json --brief -- true",
         "--brief needs --json, and excludes --over-time and --tree"),
        ("run --from soon -- true", "--from takes a time such as 2.5s, 300ms or 10m, not 'soon'"),
        ("run --pid 1 -- true", "--pid records a running process: omit the program"),
        ("--completion tcsh", "unknown shell tcsh; known: bash, zsh, fish"),
        ("run -o - -- true", "run reads the trace back, which is not possible from -; use heapwright record"),
        ("run", "name a program to record: heapwright run [options] -- PROGRAM [ARGUMENTS]"),
    ],
)  # fmt: skip
def test_wrong_input(command: Command, trace_file: Path, arguments: str, message: str) -> None:
    places = {"trace": trace_file, "folder": trace_file.parent}
    quoted = arguments.format(**places).replace("{", "\0").replace("}", "\0").split("\0")
    words = [word for i, part in enumerate(quoted) for word in ([part] if i % 2 else part.split())]
    said = command(*words)
    assert (said.code, said.err, said.out) == (2, f"heapwright: {message.format(**places)}\n", "")


def test_a_file_that_is_no_trace(command: Command, tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("nothing of the kind\n" * 9)
    for name in ("explain", "info", "sql"):
        said = command(name, "notes", *(["select 1"] if name == "sql" else []))
        assert said.code == 2
        assert (
            said.err
            == "heapwright: notes is not a heapwright trace; make one with: heapwright record -- PROGRAM\n"
        )


def test_explain_for_people_and_for_programs(command: Command, trace_file: Path) -> None:
    said = command("explain", trace_file)
    assert said.code == 0
    assert "What stands out" in said.out
    assert said.err.startswith(f"next: heapwright explain {trace_file} --question ")
    document = json.loads(command("explain", "--json", "--question", "peak", trace_file).out)
    assert (document["schema"], list(document["questions"])) == ("heapwright.explain/1", ["peak"])


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_explain_without_options_says_what_it_says_with_their_defaults(
    command: Command, trace_file: Path, form: list[str]
) -> None:
    plain = command("explain", *form, trace_file)
    assert plain == command("explain", trace_file, *form)
    assert plain == command("explain", "--top", 10 if form else 3, *form, trace_file)


def test_explain_filters_and_grouping(command: Command, trace_file: Path) -> None:
    def sites(*options: str) -> list[str]:
        document = json.loads(command("explain", "--json", *options, trace_file).out)
        return [site["name"] for site in document["questions"]["volume"]["sites"]]

    assert sites() == ["server+0x3000", "server+0x2000", "server+0x1000"]
    assert sites("--site", "0x2000") == ["server+0x2000"]
    assert sites("--site-depth", "2")[0] == "server+0x3000 < server+0x1000"
    assert sites("--skip", "0x3000")[0] == "server+0x1000"
    assert sites("--thread", "worker") == []
    assert sites("--top", "1") == ["server+0x3000"]
    assert len(sites("--full-stacks")) == 4


def test_a_query_that_fails_only_when_rows_are_taken_prints_no_header(
    trace_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> list[object]:
        raise InputError("too late")

    monkeypatch.setattr("heapwright.cli.sql._fetch", fail)
    assert run_command(["sql", "--csv", str(trace_file), "select kind from event"]) == 2
    said = capsys.readouterr()
    assert (said.err, said.out) == ("heapwright: too late\n", "")


def test_sql_prints_tables_csv_and_json(command: Command, trace_file: Path) -> None:
    query = "select kind, count(*) as calls from event group by kind order by calls desc, kind limit 2"
    printed = command("sql", trace_file, query).out.split()
    assert [word for word in printed if "─" not in word] == ["kind", "calls", "free", "2", "malloc", "2"]
    assert command("sql", "--csv", trace_file, query).out == "kind,calls\nfree,2\nmalloc,2\n"
    document = json.loads(command("sql", "--json", trace_file, query).out)
    assert document == {
        "schema": "heapwright.sql/1",
        "columns": ["kind", "calls"],
        "rows": [["free", 2], ["malloc", 2]],
    }


@pytest.mark.parametrize("table", ["event", "block", "site", "stack", "frame", "thread", "memory", "module"])
def test_every_table_has_rows(command: Command, trace_file: Path, table: str) -> None:
    rows = json.loads(command("sql", "--json", trace_file, f"select count(*) from {table}").out)["rows"]
    assert rows[0][0] > 0


def test_info(command: Command, trace_file: Path) -> None:
    said = command("info", trace_file)
    assert "/opt/shop/server" in said.out
    assert "worker #1" in said.out
    assert said.err == f"next: heapwright explain {trace_file}\n"
    document = json.loads(command("info", "--json", trace_file).out)
    assert (document["schema"], document["events"]) == ("heapwright.info/1", 8)


def test_a_damaged_trace_is_explained_as_far_as_it_goes(command: Command, tmp_path: Path) -> None:
    whole = small_trace().write(tmp_path / "whole.heapwright").read_bytes()
    (tmp_path / "cut.heapwright").write_bytes(whole[: len(whole) * 2 // 3])
    said = command("explain", "cut.heapwright")
    assert said.code == 0
    assert "INCOMPLETE RECORDING" in said.out


@pytest.mark.parametrize("options", [[], ["--json"], ["--question", "peak"]])
def test_a_reader_that_goes_away_is_no_error(trace_file: Path, options: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    line = [sys.executable, "-c", ENTRY, "explain", str(trace_file), *options]
    done = subprocess.run(line, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_explain_as_json_loads_no_module_that_takes_long(trace_file: Path) -> None:
    """Each of these takes as long as reading a short trace."""
    code = (
        "import sys; from heapwright.cli.quick_explain import try_quick_explain;"
        "assert try_quick_explain(['explain', sys.argv[1], '--json']);"
        "print({'dataclasses', 'pathlib', 'typer', 'rich'} & sys.modules.keys(), file=sys.stderr)"
    )
    line = [sys.executable, "-c", code, str(trace_file)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "set()\n")


@pytest.mark.parametrize("path", ["/lib/_native.so", None])
def test_a_compiled_module_of_another_version_is_one_line(
    trace_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], path: str | None
) -> None:
    def fail(_: object) -> int:
        raise ImportError("cannot import name 'x'", name="heapwright._native", path=path)

    monkeypatch.setattr("heapwright.cli._run_command_line", fail)
    assert run_command(["info", str(trace_file)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "make build" in said
    assert path is None or path in said


@pytest.mark.parametrize("is_older", [True, False])
def test_an_error_of_a_compiled_module_older_than_its_sources_is_one_line(
    trace_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    is_older: bool,
) -> None:
    module = types.ModuleType("heapwright._native")
    module.__file__ = str(tmp_path / "_native.so")
    Path(module.__file__).touch()
    os.utime(module.__file__, (1, 1) if is_older else None)
    monkeypatch.setitem(sys.modules, "heapwright._native", module)
    monkeypatch.setattr("heapwright.cli._run_command_line", lambda _: {}["live_at_scans"])
    if not is_older:  # a fault of heapwright itself keeps its traceback
        with pytest.raises(KeyError):
            run_command(["info", str(trace_file)])
        return
    assert run_command(["info", str(trace_file)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith(f"heapwright: {module.__file__} is older than the clone's src/; run `make build`")
    assert said.endswith("(KeyError: 'live_at_scans')\n")


def test_a_thread_is_found_as_it_is_printed(command: Command, trace_file: Path) -> None:
    named = command("explain", "--json", "--thread", "worker #1", trace_file)
    assert named.code == 0
    assert named.out == command("explain", "--json", "--thread", "1", trace_file).out


def test_help_lists_the_commands(command: Command) -> None:
    out = command("--help").out
    assert all(name in out for name in ("record", "explain", "run", "sql", "export", "info"))
    assert command("--version").out.startswith("heapwright ")


COMMANDS = (
    "record",
    "explain",
    "run",
    "sql",
    "export",
    "info",
    "replay",
    "keep",
    "compare",
    "gate",
    "lint",
    "lab",
    "count",
    "top",
)


def test_without_arguments_there_is_help(command: Command) -> None:
    bare = command()
    assert (bare.code, bare.err) == (0, "")
    assert bare.out == command("-h").out == command("--help").out


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples_that_are_commands(command: Command, name: str) -> None:
    said = command(name, "-h")
    assert (said.code, said.err) == (0, "")
    assert said.out == command(name, "--help").out
    assert "\\[" not in said.out
    examples = said.out.split("Examples:\n")[1].splitlines()
    assert examples
    assert all(example.strip().startswith(f"heapwright {name}") for example in examples)
    listed = next(line for line in command("-h").out.splitlines() if line.startswith(f"  {name} "))
    assert not listed.endswith("...")


def test_arguments_are_explained(command: Command) -> None:
    assert "A trace written by heapwright record, a folder" in command("explain", "-h").out


def test_an_option_means_one_thing(command: Command) -> None:
    """The same name takes the same kind of value in every command."""
    kinds: dict[str, set[str]] = {}
    for name in COMMANDS:
        for line in command(name, "-h").out.splitlines():
            if line.startswith("  -"):
                words = line.strip().split("  ")[0].replace(",", " ").split()
                option = next(word for word in words if word.startswith("--"))
                kinds.setdefault(option, set()).add(words[-1] if words[-1].isupper() else "")
    same = {"PATTERN", "OUT", "FILE"}  # a file to write
    assert {option: found for option, found in kinds.items() if len(found) > 1 and found != same} == {}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(command: Command, shell: str) -> None:
    script = command("--completion", shell)
    assert script.code == 0
    assert "_HEAPWRIGHT_COMPLETE=complete_" + shell in script.out
    typed = "heapwright explain --unt"
    environment = {
        "_HEAPWRIGHT_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": typed,
        "COMP_CWORD": "2",
        "_TYPER_COMPLETE_ARGS": typed,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    said = command(environment=environment.items())
    assert "--until" in said.out, said
    assert "--top" not in said.out


def test_tables_as_parquet_have_names_of_their_own(command: Command, trace_file: Path) -> None:
    for table in ("event", "block", "site"):
        said = command("export", trace_file, "--to", "parquet", "--table", table)
        assert said.out.startswith(f"server.{table}.parquet  ")
    assert command("export", trace_file, "--to", "parquet").err.startswith(
        "heapwright: server.event.parquet exists"
    )


# Takes longer than any test waits.
ENDLESS = "select sum(a.range * b.range) from range(10000000) a, range(10000000) b"


def heed_ctrl_c() -> None:
    """Where the tests run in the background of a shell script, their children would ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_in_a_query_is_one_line(trace_file: Path) -> None:
    line = [sys.executable, "-c", ENTRY, "sql", str(trace_file), ENDLESS]
    pipe = subprocess.PIPE
    with subprocess.Popen(line, stdout=pipe, stderr=pipe, text=True, preexec_fn=heed_ctrl_c) as process:
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        try:
            assert process.communicate(timeout=60) == ("", "heapwright: interrupted\n")
        finally:
            process.kill()
    assert process.returncode == 130


def test_ctrl_c_while_modules_are_loaded_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    done = subprocess.run(
        [sys.executable, "-c", ENTRY, "explain", "x"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
        timeout=60,
        check=False,
        preexec_fn=heed_ctrl_c,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "heapwright: interrupted\n")


@pytest.mark.parametrize(
    ("limit_bytes", "advice"),
    [(1 << 30, "raise the address space limit"), (resource.RLIM_INFINITY, "--from and --until")],
)
def test_out_of_memory_says_what_to_do(
    limit_bytes: int, advice: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def runs_out(_: list[str]) -> int:
        raise MemoryError

    monkeypatch.setattr("heapwright.cli._run_command_line", runs_out)
    monkeypatch.setattr("resource.getrlimit", lambda _: (limit_bytes, limit_bytes))
    assert run_command(["info", "x"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("heapwright: out of memory; ")
    assert advice in said
