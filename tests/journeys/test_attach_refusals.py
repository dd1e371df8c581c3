# SPDX-License-Identifier: MIT
"""What count --pid and record --pid refuse, each in one line with its reason."""

import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from attaching import answer, python, refused
from conftest import build, command, programs
from counting import ask, count, environment


def test_a_counting_process_is_read_and_not_attached_to() -> None:
    document = count("/bin/sh", "-c", f"{command} count --pid $$ --json")
    assert document["exit_code"] == 0
    refusal = count("/bin/sh", "-c", f"{command} count --pid $$ --duration 1")
    assert refusal["exit_code"] == 2


def test_what_cannot_be_attached_to_is_refused(tmp_path: Path) -> None:
    assert "no such process" in refused(2**22 + 5)
    assert "heapwright itself" in refused_by_shell("exec {command} count --pid $$ --duration 1")
    with python("import time; print('ready', flush=True); time.sleep(60)") as process:
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(0.1)
        assert "kill -CONT" in refused(process.pid)
        process.kill()
    source = tmp_path / "still.c"
    source.write_text("#include <unistd.h>\nint main(void) { return (int)sleep(60); }\n")
    for options, word in (
        (["gcc", "-static", "-s"], "is stripped"),
        (["gcc", "-static-pie", "-s"], "is stripped"),
        (["gcc", "-fsanitize=address"], "sanitizer"),
    ):
        if shutil.which(options[0]) is None:
            continue
        program = tmp_path / "still"
        subprocess.run([*options, str(source), "-o", str(program)], check=True, timeout=60)
        with subprocess.Popen([str(program)]) as process:
            time.sleep(0.2)
            assert word in refused(process.pid), options
            process.kill()


def refused_by_shell(line: str) -> str:
    result = subprocess.run(
        ["/bin/sh", "-c", line.format(command=command)],
        capture_output=True, text=True, check=False, timeout=60, env=environment,
    )  # fmt: skip
    assert result.returncode == 2, result
    return result.stderr


def test_a_filter_of_system_calls_is_refused_unless_forced(tmp_path: Path) -> None:
    script = """
import ctypes, struct, sys
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
allow = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000))
libc.prctl(22, 2, ctypes.byref(ctypes.create_string_buffer(struct.pack('HxxxxxxQ', 1, ctypes.addressof(allow)))), 0, 0)
print('ready', flush=True)
sys.stdin.readline()
"""
    with python(script) as process:
        assert "--despite-seccomp attaches anyway" in refused(process.pid)
        result = ask("count", "--pid", str(process.pid), "--duration", "0.1", "--despite-seccomp", "--json")
        assert result.returncode == 0, result.stderr
        path = str(tmp_path / "a.heapwright")
        line = ["record", "--pid", str(process.pid), "--duration", "0.1", "--output", path]
        assert ask(*line, "--force").returncode == 2  # which is for files
        assert ask(*line, "--despite-seccomp").returncode == 0
        answer(process)


def test_a_filter_that_ends_the_process_is_named(tmp_path: Path) -> None:
    """It forbids memfd_create alone, which counting does without."""
    number = {"x86_64": 319, "aarch64": 279}[platform.machine()]
    script = f"""
import ctypes, struct, sys
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
program = ctypes.create_string_buffer(
    struct.pack('HBBI', 0x20, 0, 0, 0) + struct.pack('HBBI', 0x15, 0, 1, {number})
    + struct.pack('HBBI', 6, 0, 0, 0x80000000) + struct.pack('HBBI', 6, 0, 0, 0x7fff0000))
filter = ctypes.create_string_buffer(struct.pack('HxxxxxxQ', 4, ctypes.addressof(program)))
libc.prctl(22, 2, ctypes.byref(filter), 0, 0)
print('ready', flush=True)
sys.stdin.readline()
"""
    with python(script) as process:
        counting = ask("count", "--pid", str(process.pid), "--duration", "0.1", "--despite-seccomp")
        assert counting.returncode == 0, counting.stderr
        path = str(tmp_path / "a.heapwright")
        result = ask("record", "--pid", str(process.pid), "--output", path, "--despite-seccomp")
        assert result.returncode == 2
        assert "its seccomp filter killed it" in result.stderr
        assert result.stderr.count("\n") == 1
        assert process.wait(10) == -signal.SIGSYS


def test_a_traced_process_is_refused() -> None:
    if shutil.which("strace") is None:
        pytest.skip("needs strace")
    with python("import time; print('ready', flush=True); time.sleep(60)") as process:
        with subprocess.Popen(
            ["strace", "-p", str(process.pid)], stderr=subprocess.PIPE, text=True
        ) as tracer:
            assert tracer.stderr is not None
            tracer.stderr.readline()
            assert f"traced by process {tracer.pid}" in refused(process.pid)
            tracer.terminate()
        process.kill()


def test_other_users_have_their_reasons(tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv")
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    attacher = str(build / "bin/heapwright-attach")
    copied = tmp_path / "heapwright-attach"
    shutil.copy(attacher, copied)
    tmp_path.chmod(0o755)
    for parent in list(tmp_path.parents)[:2]:
        parent.chmod(0o755)

    def refusal(process: int) -> str:
        reasons = []
        for options in ([], ["--record"]):
            result = subprocess.run(
                [*nobody, str(copied), *options, str(process)], capture_output=True, text=True, check=False
            )
            assert result.returncode == 2
            reasons.append(result.stderr.split("ed: ")[1])
        assert reasons[0] == reasons[1]
        return reasons[0]

    idle = "import ctypes, sys\n{}\nprint('ready', flush=True)\nsys.stdin.readline()"
    with python(idle.format("")) as process:
        assert "belongs to user 0" in refusal(process.pid)
        answer(process)
    script = idle.format("ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)")
    line = [*nobody, "/usr/bin/python3", "-S", "-E", "-c", script]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert "PR_SET_DUMPABLE" in refusal(process.pid)
        answer(process)


# As yama does, its setting said by a file: ptrace is answered by EPERM, then the attacher is executed.
like_yama = """
import ctypes, os, platform, struct, sys
ptrace = {'x86_64': 101, 'aarch64': 117}[platform.machine()]
program = ctypes.create_string_buffer(
    struct.pack('HBBI', 0x20, 0, 0, 0) + struct.pack('HBBI', 0x15, 0, 1, ptrace)
    + struct.pack('HBBI', 6, 0, 0, 0x00050001) + struct.pack('HBBI', 6, 0, 0, 0x7fff0000))
filter = ctypes.create_string_buffer(struct.pack('HxxxxxxQ', 4, ctypes.addressof(program)))
libc = ctypes.CDLL(None)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(filter), 0, 0):
    sys.exit(77)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("scope", "remedy"),
    [
        (None, "the kernel forbids it even to root"),
        (1, "libheapwright-attachable.so"),
        (2, "or set it to 0"),
        (3, "after a restart"),
    ],
)
def test_a_system_that_forbids_tracing(scope: int | None, remedy: str) -> None:
    covered = ["unshare", "--mount", "/bin/sh", "-c"]
    files = "mount -t tmpfs none /proc/sys/kernel && mkdir /proc/sys/kernel/yama"
    if os.geteuid() != 0 or subprocess.run([*covered, files], check=False).returncode != 0:
        pytest.skip("needs root, and a mount namespace")
    if scope is not None:
        files += f" && echo {scope} > /proc/sys/kernel/yama/ptrace_scope"
    line = f'{files} || exit; sleep 60 > /dev/null 2>&1 & "$@" $!; status=$?; kill $!; exit $status'
    attach = [sys.executable, "-c", like_yama, str(build / "bin/heapwright-attach")]
    for options in ([], ["--record"]):
        result = subprocess.run(
            [*covered, line, "sh", *attach, *options], capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert result.returncode == 2, result
        assert result.stderr.count("\n") == 1
        assert remedy in result.stderr
        assert ("yama" in result.stderr) == (scope is not None)


def test_bad_requests_get_one_line() -> None:
    for line, word in (
        (["count", "--duration", "1", "--", "true"], "need --pid"),
        (["count", "--pid", "1", "--", "true"], "omit the program"),
        (["count", "--pid", "no-such-name"], "no-such-name"),
        (["count", "--pid", "1", "--duration", "soon"], "takes a time"),
        (["count", "--pid", "0", "--duration", ".3"], "process 0 is not counted: there is no such process\n"),
        (["count", "--pid", "99999999999999999999"], "is not counted: there is no such process\n"),
        (["record", "--pid", "99999999999999999999"], "is not recorded: there is no such process\n"),
    ):
        result = ask(*line)
        assert result.returncode == 2, line
        assert word in result.stderr, result.stderr
        assert result.stderr.count("\n") == 1


def test_a_name_of_processes_that_do_not_count(tmp_path: Path) -> None:
    program = tmp_path / "two_of_us"
    shutil.copy("/bin/sleep", program)
    with subprocess.Popen([program, "60"]) as one, subprocess.Popen([program, "60"]) as other:
        time.sleep(0.2)
        result = ask("top", "two_of_us", "--once", "--interval", "0.1")
        assert result.returncode == 2
        assert "2 processes are called two_of_us, but none has counters; " in result.stderr
        one.kill()
        other.kill()


def test_more_that_cannot_be_attached_to(tmp_path: Path) -> None:
    """A thread, a kernel thread, another architecture's program, a setuid one, another namespace."""
    script = (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "print('ready', flush=True)\ntime.sleep(60)"
    )
    with python(script) as process:
        threads = [int(one.name) for one in Path(f"/proc/{process.pid}/task").iterdir()]
        other = next(one for one in threads if one != process.pid)
        assert f"it is a thread of process {process.pid}" in refused(other)
    assert "kernel thread" in refused(2)
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return
    with subprocess.Popen(["unshare", "--mount", "sleep", "60"]) as process:
        time.sleep(0.5)
        result = ask("count", "--duration", "0.1", "--pid", str(process.pid))
        assert result.returncode == 2
        assert "count it within that, or record it: heapwright record --pid\n" in result.stderr
        process.kill()


def test_a_setuid_program_is_left_to_root(tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv")
    for folder in (tmp_path, *list(tmp_path.parents)[:2]):
        folder.chmod(0o755)
    source = tmp_path / "still.c"
    source.write_text("#include <unistd.h>\nint main(void) { return (int)sleep(60); }\n")
    program, attacher = tmp_path / "still", tmp_path / "heapwright-attach"
    subprocess.run(["gcc", str(source), "-o", str(program)], check=True, timeout=60)
    program.chmod(0o4755)  # of root: who runs it is another user
    shutil.copy(build / "bin/heapwright-attach", attacher)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    with subprocess.Popen([*nobody, str(program)]) as process:
        time.sleep(0.5)
        for options in ([], ["--record"]):
            line = [*nobody, str(attacher), *options, str(process.pid)]
            result = subprocess.run(line, capture_output=True, text=True, check=False)
            assert result.returncode == 2
            assert "setuid program; only root" in result.stderr, result.stderr
        process.kill()


def test_a_refused_process_keeps_nothing_of_ours(tmp_path: Path) -> None:
    """Its address space is too small for a recording; it may be counted."""
    line = ["/bin/sh", "-c", "ulimit -v 400000; exec /usr/bin/python3 -S -E -c 'input()'"]
    with subprocess.Popen(line, stdin=subprocess.PIPE) as process:
        time.sleep(0.5)
        before = sorted(one.name for one in Path(f"/proc/{process.pid}/fd").iterdir())
        result = ask("record", "--pid", str(process.pid), "--output", str(tmp_path / "a.heapwright"))
        assert result.returncode == 2
        assert "ulimit -v" in result.stderr
        assert result.stderr.count("\n") == 1
        assert sorted(one.name for one in Path(f"/proc/{process.pid}/fd").iterdir()) == before
        assert ask("count", "--pid", str(process.pid), "--duration", "0.1").returncode == 0
        process.kill()


def test_a_process_without_a_clock_is_refused_and_goes_on(tmp_path: Path) -> None:
    """The kernel would kill it for the first clock that is read in it."""
    with subprocess.Popen([programs / "gives_up_clock", "wait"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        for words in (("record", "--output", str(tmp_path / "a.heapwright")), ("count", "--duration", "0.1")):
            result = ask(words[0], "--pid", str(process.pid), *words[1:])
            assert result.returncode == 2
            assert "has given up the clock" in result.stderr
            assert result.stderr.count("\n") == 1
        assert process.poll() is None
        process.kill()
