# SPDX-License-Identifier: MIT
"""pytest --heapwright: what native extensions allocate in each test, against the limits of its marker.

pytest runs again under the recorder. There each test is a phase; when it has ended, the recording says what
each phase cost. Without --heapwright the markers are checked for mistakes and do nothing else.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

_LIMITS_FILE = "HEAPWRIGHT_PYTEST_LIMITS"  # set in the pytest that is recorded
_KEYS = {
    "calls": "calls_per_run",
    "bytes": "bytes_per_run",
    "peak": "peak_live_bytes",
    "kept": "live_at_end_bytes",
    "kept_blocks": "live_at_end_blocks",
    "growth": "growth_bytes_per_s",
    "p99_ns": "p99_ns",
}
_LONGEST_NAME = 120  # of a phase, in bytes; the recorder keeps 128
# Of pytest's exit codes: failed tests, an internal error, wrong usage.
_OUTSIDE, _NOT_DONE, _MISTAKE = 1, 3, 4


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options and the setting."""
    group = parser.getgroup("heapwright")
    group.addoption(
        "--heapwright",
        action="store_true",
        help="Record the tests' heap calls, and fail if a test exceeds the limits of @pytest.mark.heap.",
    )
    group.addoption(
        "--heapwright-only",
        action="append",
        metavar="LIBRARY",
        help="Count only call sites in this library (_shop*.so). Repeatable; setting: heapwright_only.",
    )
    group.addoption("--heapwright-keep", metavar="FOLDER", help="Keep the recording in this folder.")
    parser.addini("heapwright_only", "Libraries whose call sites count, for --heapwright.", type="args")


def pytest_configure(config: pytest.Config) -> None:
    """Names the marker; in the recorded pytest, tells the recorder of each test."""
    config.addinivalue_line("markers", f"heap({', '.join(_KEYS)}): at most these amounts, with --heapwright")
    if _LIMITS_FILE in os.environ:
        config.pluginmanager.register(_Recorded(Path(os.environ[_LIMITS_FILE])), "heapwright-recorded")


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """A mistake in a marker is one with and without --heapwright."""
    for item in items:
        _limits_of(item)


def _limits_of(item: pytest.Item) -> dict[str, int]:
    marker = item.get_closest_marker("heap")
    if marker is None:
        return {}
    for name, value in marker.kwargs.items():
        if name not in _KEYS or isinstance(value, bool) or not isinstance(value, int) or value < 0:
            break
    else:
        if marker.kwargs and not marker.args:
            return {_KEYS[name]: value for name, value in marker.kwargs.items()}
    raise pytest.UsageError(
        f"{item.nodeid}: @pytest.mark.heap takes {'=N, '.join(_KEYS)}=N, whole numbers of at least 0"
    )


class _Recorded:
    """In the recorded pytest: a phase for each test, and its limits into a file."""

    def __init__(self, limits_file: Path) -> None:
        recorder = ctypes.CDLL(None)
        self._begin = recorder.heapwright_annotate_phase_begin
        self._end = recorder.heapwright_annotate_phase_end
        self._limits_file = limits_file
        self._limits: dict[str, dict[str, int]] = {}
        self._names: list[ctypes.Array[ctypes.c_char]] = []  # they stay valid

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        """Around the test alone, without its fixtures."""
        text = _phase_name(item.nodeid, len(self._names))
        if limits := _limits_of(item):
            self._limits[text] = limits
        name = ctypes.create_string_buffer(text.encode("utf-8", "replace"))
        self._names.append(name)
        self._begin(name)
        try:
            return (yield)
        finally:
            self._end(name)

    def pytest_sessionfinish(self) -> None:
        """For the pytest that recorded this one."""
        self._limits_file.write_text(json.dumps(self._limits), encoding="utf-8")


def _phase_name(node: str, number: int) -> str:
    encoded = node.encode("utf-8", "replace")
    if len(encoded) <= _LONGEST_NAME:
        return node
    return f"{number}…{encoded[-(_LONGEST_NAME - 16) :].decode('utf-8', 'ignore')}"


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Records the same pytest, and checks what it did."""
    if not config.getoption("heapwright") or _LIMITS_FILE in os.environ:
        return None
    if getattr(config.option, "numprocesses", None):
        raise pytest.UsageError("--heapwright records one process: omit -n")
    from heapwright.cli.errors import InputError
    from heapwright.gate.budget import BudgetError

    try:
        with ExitStack() as stack:
            return _record_and_check(config, stack)
    except (InputError, BudgetError) as error:
        sys.stderr.write(f"heapwright: {error}\n")
        return _MISTAKE


def _record_and_check(config: pytest.Config, stack: ExitStack) -> int:
    from heapwright.cli import recorded_files, repeated_runs
    from heapwright.cli.record import collector_command

    keep = config.getoption("heapwright_keep")
    folder = repeated_runs.folder_for(Path(keep) if keep else None, stack)
    summary, limits_file = folder / ".summary.json", folder / ".limits.json"
    pattern = str(folder / "pytest.%e.%p.heapwright")
    command = collector_command({"output": pattern, "summary": str(summary), "quiet": True}, _pytest(config))
    environment = {**os.environ, _LIMITS_FILE: str(limits_file)}
    done = subprocess.run(command, env=environment, cwd=config.invocation_params.dir, check=False)
    files = recorded_files.files_of(summary)
    if not files or not limits_file.exists():
        return done.returncode or _NOT_DONE
    limits = json.loads(limits_file.read_text(encoding="utf-8"))
    summary.unlink()
    limits_file.unlink()
    only = (*(config.getoption("heapwright_only") or ()), *config.getini("heapwright_only"))
    is_within = not limits or _check(Path(recorded_files.main_file(files)["path"]), limits, only)
    return done.returncode or (0 if is_within else _OUTSIDE)


def _pytest(config: pytest.Config) -> list[str]:
    """As this one was started: a script leaves the current folder out of the modules' path."""
    script = Path(sys.argv[0])
    own = [str(script)] if script.name in ("pytest", "py.test") else ["-m", "pytest"]
    return [sys.executable, *own, *map(str, config.invocation_params.args)]


def _check(file: Path, limits: dict[str, dict[str, int]], only: tuple[str, ...]) -> bool:
    """Prints the limits; whether all are kept."""
    from heapwright.cli.arguments import open_trace
    from heapwright.cli.errors import InputError
    from heapwright.cli.output import make_console
    from heapwright.gate import document as documents
    from heapwright.gate import show
    from heapwright.gate.budget import Budget, Rule
    from heapwright.gate.limits import PHASE
    from heapwright.gate.measured import measure
    from heapwright.model.wholeness import why_not_whole

    trace = open_trace(file, None)
    if reasons := why_not_whole(trace):
        raise InputError(f"the recording proves nothing: {reasons[0]}")
    rules = tuple(Rule(PHASE, name, given, None, "", False) for name, given in limits.items())
    budget = Budget(rules, (), (), {}, only)
    checked = documents.Checked("the markers", "", "pytest", (trace.path,), ())
    measured = measure(trace, budget, lambda *_: None)
    if measured.lost:
        raise InputError(f"the recording proves nothing: {measured.lost[0]}")
    document: dict[str, Any] = documents.make(checked, budget, [measured])
    console = make_console()
    console.print()
    show.on_console(document, console)
    return bool(document["is_within"])
