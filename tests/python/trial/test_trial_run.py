# SPDX-License-Identifier: MIT
"""One run of real processes: their figures, how they fail, and that none is left."""

from __future__ import annotations

import ctypes.util
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from heapwright.trial import processes
from heapwright.trial.run import FailedError, Plan, Run, Way, run_once

MIB = 1 << 20
# Fills 48 MiB for a third of the time, and 16 MiB for the rest.
FILLS = "import time; a = b'x' * (32 << 20); b = b'y' * (16 << 20); time.sleep(.2); del a; time.sleep(.4)"
# Serves until SIGTERM; holds more while a file named as it says is there.
SERVES = """
import pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
(folder / "ready").touch()
held = b""
while True:
    wanted = (64 << 20) if (folder / "load").exists() else 0
    if len(held) != wanted:
        held = b""
        held = b"x" * wanted
        (folder / "holds").touch()
    time.sleep(0.005)
"""


def plan(*command: str, **more: object) -> Plan:
    return Plan(command, dict(os.environ), limit_s=20.0)._replace(**more)  # type: ignore[arg-type]


def python(text: str, *arguments: str, **more: object) -> Plan:
    return plan(sys.executable, "-I", "-S", "-c", text, *arguments, **more)


def base() -> Run:
    return run_once(python("import time; time.sleep(.1)"), Way())


def test_a_programs_own_memory_and_time_are_measured() -> None:
    ballast = b"x" * (200 * MIB)  # whoever starts it has more
    found, without = run_once(python(FILLS), Way()).figures, base().figures
    assert len(ballast) and without["peak_bytes"] < 30 * MIB
    assert found["peak_bytes"] - without["peak_bytes"] == pytest.approx(48 * MIB, rel=0.1)
    assert found["steady_bytes"] - without["steady_bytes"] == pytest.approx(16 * MIB, rel=0.2)
    assert found["minor_faults"] - without["minor_faults"] >= 48 * MIB // 4096
    assert found["wall_ns"] > 6e8 > found["cpu_ns"]
    assert "idle_bytes" not in found


def test_child_processes_count() -> None:
    text = f"import subprocess, sys; subprocess.run([sys.executable, '-I', '-S', '-c', {FILLS!r}])"
    found = run_once(python(text), Way())
    assert found.children == 1
    assert found.figures["peak_bytes"] > 48 * MIB
    assert found.figures["minor_faults"] >= 48 * MIB // 4096


def test_variables_reach_the_program_and_not_its_starter(tmp_path: Path) -> None:
    text = "import os; print(os.environ['A'], os.environ.get('LD_PRELOAD'))"
    command = "cat > seen; echo 1 s"
    found = run_once(
        python(text, metric=f"cd {tmp_path}; {command}"), Way("x", {"A": "1 $x '", "LD_PRELOAD": "/none.so"})
    )
    assert (tmp_path / "seen").read_text() == "1 $x ' /none.so\n"
    assert (found.figures["metric"], found.unit) == (1.0, "s")


def test_a_server_is_started_loaded_and_stopped(tmp_path: Path) -> None:
    folder = str(tmp_path)
    served = python(
        SERVES,
        folder,
        ready=f"test -e {folder}/ready",
        # It holds that for longer than it takes to fill it, and so for all of the second half.
        load=f"cd {folder}; rm -f holds; touch load; n=50; until test -e holds; do sleep .01; n=$((n+1)); done; "
        "while test $n -gt 0; do sleep .01; n=$((n-1)); done; rm load; echo 12.5 req/s",
        metric="cat",
        idle_s=0.3,
    )
    found = run_once(served, Way())
    without = base().figures["peak_bytes"]
    assert found.figures["peak_bytes"] - without == pytest.approx(64 * MIB, rel=0.1)
    assert found.figures["steady_bytes"] - without == pytest.approx(64 * MIB, rel=0.1)
    assert found.figures["idle_bytes"] - without < 8 * MIB
    assert 5e8 < found.figures["wall_ns"] < 5e9, "of the load"
    assert (found.figures["metric"], found.unit) == (12.5, "req/s")


def test_a_remedy_that_the_program_refuses_is_not_measured() -> None:
    says = python("import sys; print('heapwright: cut@f is off: x was built anew', file=sys.stderr)")
    run_once(says, Way())
    with pytest.raises(FailedError, match=r"^runs without it: cut@f is off: x was built anew$"):
        run_once(says, Way("cut@f", refusal="^heapwright: (.* is off: .*)$"))


DEEDS = (
    (r"(cut@\w+): (\d+) made", "did nothing: no call"),
    (r"(cut@\w+): [1-9]\d* made, (\d+) again", "used none"),
)
TELLS = "import os; print({}, file=open(os.environ['DEEDS'], 'a'))"


@pytest.mark.parametrize(
    ("told", "deeds"),
    [
        ("'cut@f: 0 made, 0 again'", {"cut@f did nothing: no call": 0}),
        ("'cut@f: 7 made, 0 again'", {"cut@f did nothing: no call": 7, "cut@f used none": 0}),
        (
            "'cut@f: 0 made, 0 again\\ncut@f: 2 made, 1 again'",
            {"cut@f did nothing: no call": 2, "cut@f used none": 1},
        ),
        ("'other'", {}),
    ],
)
def test_what_a_remedy_did_is_told_by_its_processes(told: str, deeds: dict[str, int]) -> None:
    way = Way("cut@f", deeds_to="DEEDS", deeds=DEEDS)
    assert run_once(python(TELLS.format(told)), way).deeds == deeds
    assert run_once(python(TELLS.format(told)), Way("cut@f", {"DEEDS": os.devnull})).deeds == {}


def test_a_process_that_tells_nothing_may_have_done_something() -> None:
    """The child is killed, and so adds no line."""
    kills = "import subprocess as s; p = s.Popen(['sleep', '9']); import time; time.sleep(.3); p.kill(); p.wait(); "
    found = run_once(
        python(kills + TELLS.format("'cut@f: 0 made'")), Way("cut@f", deeds_to="DEEDS", deeds=DEEDS)
    )
    assert (found.children, found.deeds) == (1, {})


@pytest.mark.parametrize(
    ("made", "said", "of_load"),
    [
        (python("import sys; sys.exit('no such table')"), "^failed: no such table$", False),
        (python("import sys; sys.exit(3)"), "^failed: exit code 3$", False),
        (python("import os; os.abort()"), "^crashed: SIGABRT", False),
        (
            python("import time; time.sleep(60)", limit_s=0.3),
            r"^hung: no end after 0.3 s \(--limit\)$",
            False,
        ),
        (
            python("import time; time.sleep(60)", load="echo refused >&2; exit 1"),
            "^--while 'echo refused >&2; exit 1' failed: refused; --ready 'COMMAND' waits until",
            True,
        ),
        (
            python("import time; time.sleep(.2); 1/0", load="sleep 1; false"),
            "^ended under its load: Zero",
            False,
        ),
        (python("1/0", load="true", ready="false"), "^ended before it was ready: Zero", False),
        (
            python("import time; time.sleep(60)", load="true", ready="false", limit_s=3.0),
            "^--ready 'false' did not succeed within 0.3 s$",
            True,
        ),
        (
            python(
                "import time; time.sleep(60)", load="true", ready="echo refused >&2; exit 1", limit_s=20.0
            ),
            "^--ready 'echo refused >&2; exit 1' did not succeed within 2 s: refused$",
            True,
        ),
        (
            python("import time; time.sleep(60)", load="sleep 60", limit_s=0.3),
            "^--while 'sleep 60' did not end within 0.3 s$",
            True,
        ),
        (python("print('x')", metric="cat"), "^--metric 'cat' gives no number: its last line is 'x'$", True),
        (python("", metric="false"), "^--metric 'false' gives no number: it prints nothing$", True),
    ],
)
def test_failures_are_told_in_one_line(made: Plan, said: str, of_load: bool) -> None:
    with pytest.raises(FailedError, match=said) as failure:
        run_once(made, Way())
    assert failure.value.of_load is of_load


def test_a_server_that_heeds_no_sigterm_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heapwright.trial.run._STOP_S", 0.3)
    text = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up'); time.sleep(60)"
    with pytest.raises(FailedError, match="does not end by SIGTERM"):
        run_once(python(text, load="sleep 0.5", idle_s=0.0), Way())


def test_a_library_that_the_loader_left_out_is_noticed() -> None:
    with pytest.raises(FailedError, match=r"is not served by /none\.so: the loader did not preload it"):
        run_once(
            python("import time; time.sleep(.3)"), Way("on:none", {"LD_PRELOAD": "/none.so"}, "/none.so")
        )


def test_a_program_that_was_not_seen_with_its_library_is_not_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine it starts late, and ends between two looks."""
    late = processes._SCRIPT.replace("echo $$;", "echo $$; sleep .2;")
    monkeypatch.setattr(processes, "_SCRIPT", late)
    library = ctypes.util.find_library("m")
    assert library
    run_once(plan("/bin/true"), Way("on:none", {"LD_PRELOAD": library}, library))


def test_output_is_compared_with_the_exit_code() -> None:
    outputs = [
        run_once(python(f"print({text!r})", keeps_output=True), Way()).output for text in ("a", "a", "b")
    ]
    assert outputs[0] == outputs[1] != outputs[2]
    assert outputs[0].startswith("0 ")


def test_a_file_as_input_is_read_from_its_begin_by_each_run(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("one two")
    kept = os.dup(0)
    with (tmp_path / "words").open() as words:
        os.dup2(words.fileno(), 0)
        try:
            made = python("import sys; print(len(sys.stdin.read()))", metric="cat")
            assert [run_once(made, Way()).figures["metric"] for _ in range(2)] == [7, 7]
        finally:
            os.dup2(kept, 0)
            os.close(kept)


def _living(mark: str) -> list[str]:
    """The processes with this variable."""
    return [folder.name for folder in Path("/proc").glob("[0-9]*") if f"MARK={mark}" in _environment(folder)]


def _environment(process: Path) -> list[str]:
    try:
        return os.fsdecode((process / "environ").read_bytes()).split("\0")
    except OSError:
        return []  # it has just ended, or is not ours


LEAVES = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(60)
    os._exit(0)
time.sleep(float(sys.argv[1]))
"""


def interrupt_soon() -> None:
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # it is ignored where a shell began us behind an &
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()


@pytest.mark.parametrize(
    ("seconds", "more", "expected", "before"),
    [
        ("0", {}, None, lambda: None),
        ("60", {"limit_s": 0.5}, FailedError, lambda: None),
        ("60", {}, KeyboardInterrupt, interrupt_soon),
        ("60", {"load": "sleep 60"}, KeyboardInterrupt, interrupt_soon),
        ("60", {"load": "sleep 60 & false"}, FailedError, lambda: None),
    ],
)
def test_no_process_is_left(
    seconds: str,
    more: dict[str, object],
    expected: type[BaseException] | None,
    before: Callable[[], None],
) -> None:
    mark = f"left-{time.monotonic_ns()}"
    made = python(LEAVES, seconds, **more)
    made = made._replace(environment={**made.environment, "MARK": mark})
    before()
    if expected is None:
        run_once(made, Way())
    else:
        with pytest.raises(expected):
            run_once(made, Way())
    assert _living(mark) == []


def test_other_children_of_ours_are_left_alone() -> None:
    other = os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "30")
    try:
        run_once(python(""), Way())
        assert os.waitpid(other, os.WNOHANG) == (0, 0)
    finally:
        os.kill(other, signal.SIGKILL)
        os.waitpid(other, 0)
