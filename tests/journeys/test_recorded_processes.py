# SPDX-License-Identifier: MIT
"""Programs that know nothing of us, recorded while they run: interpreters, servers, other allocators, forks."""

import json
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest
from attaching import Server, answer, changed_code, python
from conftest import end_exited, end_killed, end_replaced, read_trace
from counting import ask
from recorded_processes import Recording, names, run_for


def test_threads_that_come_and_go_are_told_apart(tmp_path: Path) -> None:
    """They have the same stack, one after the other; glibc releases its caches when one ends."""
    script = (
        "import sys, threading\nlibc = __import__('ctypes').CDLL(None)\n"
        "libc.malloc.restype = __import__('ctypes').c_void_p\n"
        "libc.free.argtypes = [__import__('ctypes').c_void_p]\n"
        "def work():\n    for block in [libc.malloc(size) for size in range(8, 800, 8)]: libc.free(block)\n"
        "def run():\n    for _ in range(300):\n"
        "        one = threading.Thread(target=work); one.start(); one.join()\n"
        "run()\nprint('ready', flush=True)\nsys.stdin.readline()\nrun()\n"
        "print('done', flush=True)\nsys.stdin.readline()"
    )
    with python(script) as process:
        recording = Recording(process.pid, tmp_path / "a.heapwright")
        answer(process)
        time.sleep(1)  # the last one has no successor that tells of its end
        trace = recording.end()
        answer(process)
    assert trace.problems() == []
    assert len(trace.facts["threads"]) == 301
    # Each thread leaves a cache full of blocks that it has released: 300 times 64 and more.
    assert trace.facts["unknown_releases"] < 1000
    assert sum(1 for thread in trace.facts["threads"] if thread["exit_ns"]) == 300
    made = {size: count for kind, size, count in trace.facts["allocated"] if kind == "malloc"}
    released = {size: count for kind, size, count in trace.facts["released"] if kind == "free"}
    for size in (232, 456, 792):
        assert made[size] >= 300
        assert released[size] == made[size]


def test_children_of_a_fork_are_unharmed_and_not_recorded(tmp_path: Path) -> None:
    script = """
import os, sys
print('ready', flush=True)
while True:
    if os.fork() == 0:
        kept = [bytearray(1000 + index) for index in range(3000)]
        os._exit(7 if len(kept) == 3000 else 1)
    if os.waitstatus_to_exitcode(os.wait()[1]) != 7:
        print('a child was harmed', flush=True)
        sys.exit(1)
"""
    with python(script) as process:
        recording = Recording(process.pid, tmp_path / "a.heapwright")
        time.sleep(0.5)
        trace = recording.end()
        assert process.poll() is None
        assert trace.problems() == []
        assert trace.facts["events"] < 3000


def test_how_a_process_ends_is_told(tmp_path: Path) -> None:
    begin = "import os, sys\nprint('ready', flush=True)\nsys.stdin.readline()\nfor _ in range(5000): bytearray(5000)"
    for number, (ending, reason) in enumerate(
        (
            ("os._exit(3)", end_exited),
            ("os.kill(os.getpid(), 9)", end_killed),
            ("os.execv('/bin/sleep', ['sleep', '30'])", end_replaced),
        )
    ):
        with python(f"{begin}\n{ending}") as process:
            recording = Recording(process.pid, tmp_path / f"{number}.heapwright")
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
            recording.wait()
            trace = read_trace(recording.path)
            assert trace.problems() == []
            assert trace.facts["end_reason"] == reason
            assert trace.facts["called"]["malloc"] + trace.facts["called"].get("calloc", 0) >= 5000
            process.kill()


def test_nothing_after_an_exec_is_claimed(tmp_path: Path) -> None:
    """The recording ends at the exec, or where the agent was last seen before; not where its end was noticed."""
    script = (
        "import os, sys, time\nprint('ready', flush=True)\nsys.stdin.readline()\nkept = bytearray(5000)\n"
        "print(time.monotonic_ns(), flush=True)\n"
        "os.execv('/bin/sleep', ['sleep', '30'])"
    )
    with python(script) as process:
        recording = Recording(process.pid, tmp_path / "a.heapwright")
        begun_ns = time.monotonic_ns()
        time.sleep(0.3)
        executed_ns = int(answer(process))
        summary = recording.wait()
    (span,) = json.loads(ask("info", str(recording.path), "--json").stdout)["coverage"]
    assert summary["files"][0]["end"]["reason"] == "replaced"
    # begun_ns is late: recording was on before.
    assert span["to_ns"] - span["from_ns"] <= executed_ns - begun_ns + 200_000_000
    assert span["to_ns"] - span["from_ns"] >= executed_ns - begun_ns - 100_000_000


def test_the_report_says_what_is_not_known(tmp_path: Path) -> None:
    script = (
        "import sys\nkept = [bytearray(5000) for _ in range(2000)]\nprint('ready', flush=True)\n"
        "sys.stdin.readline()\nkept.clear()\nkept = [bytearray(7000) for _ in range(1000)]\n"
        "print('done', flush=True)\nsys.stdin.readline()"
    )
    with python(script) as process:
        recording = Recording(process.pid, tmp_path / "a.heapwright")
        answer(process)
        recording.end()
        answer(process)
    path = str(recording.path)
    info = json.loads(ask("info", path, "--json").stdout)
    assert info["is_attached"]
    assert not info["covers_whole_run"]
    document = json.loads(ask("explain", path, "--json").stdout)["summary"]
    assert document["is_attached"]
    assert document["completeness"]["is_complete"]
    assert not document["completeness"]["covers_whole_run"]
    assert document["totals"]["unknown_releases"] == 0
    assert document["totals"]["releases_from_before"] >= 2000
    assert document["live_at_end_blocks"] >= 1000
    said = " ".join(ask("explain", path, "--unchecked").stdout.split())
    assert "earlier blocks are unknown" in said
    assert "complete: every call" not in said
    assert "attached later" in " ".join(ask("info", path).stdout.split())


@pytest.mark.parametrize("allocator", ["libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4"])
def test_any_allocator_is_recorded(allocator: str, tmp_path: Path) -> None:
    path = Path("/usr/lib/x86_64-linux-gnu") / allocator
    if not path.exists():
        pytest.skip(f"{allocator} is not here")
    with Server(preload=str(path)) as server:
        before = run_for(server, 0.1)
        recording = Recording(server.pid, tmp_path / "a.heapwright")
        after = run_for(server, 0.3)
        trace = recording.end()
        assert changed_code(server.pid) == []
        assert server.quit() == 0
    truth = {name: after[name] - before[name] for name in after}
    called = trace.facts["called"]
    assert trace.problems() == []
    for name, kinds in names.items():
        assert sum(called.get(kind, 0) for kind in kinds) == truth[name], (name, called, truth)
    assert trace.facts["live_blocks"] == 0
    assert trace.facts["unknown_releases"] == 0


def wait_for_port(port: int) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_redis_under_load_answers_everything(tmp_path: Path) -> None:
    if shutil.which("redis-server") is None or shutil.which("redis-benchmark") is None:
        pytest.skip("needs redis")
    port = free_port()
    line = ["redis-server", "--port", str(port), "--save", "", "--daemonize", "no"]
    with subprocess.Popen(line, stdout=subprocess.DEVNULL) as redis:
        wait_for_port(port)
        load = ["redis-benchmark", "-p", str(port), "-n", "60000", "-c", "20", "-t", "set,get,lpush", "--csv"]
        client = subprocess.Popen(load, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        events = 0
        for number in range(5):
            recording = Recording(redis.pid, tmp_path / f"{number}.heapwright")
            time.sleep(0.2)
            trace = recording.end()
            assert trace.problems() == []
            events += trace.facts["events"]
        output = client.communicate(timeout=120)[0]
        assert client.returncode == 0, output
        assert "ERR" not in output
        assert events > 1000
        redis.terminate()
        assert redis.wait(20) == 0


def test_an_nginx_worker_serves_on(tmp_path: Path) -> None:
    if shutil.which("nginx") is None:
        pytest.skip("needs nginx")
    port = free_port()
    configuration = tmp_path / "nginx.conf"
    configuration.write_text(
        f"daemon off; master_process off; pid {tmp_path}/pid; error_log stderr;\nevents {{}}\n"
        f"http {{ access_log off; server {{ listen 127.0.0.1:{port}; location / {{ return 200 ok; }} }} }}\n"
    )
    with subprocess.Popen(["nginx", "-c", str(configuration)], stderr=subprocess.DEVNULL) as nginx:
        wait_for_port(port)
        recording = Recording(nginx.pid, tmp_path / "a.heapwright")
        for _ in range(300):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as one:
                one.sendall(b"GET / HTTP/1.0\r\n\r\n")
                assert b"200 OK" in one.recv(4096)
        trace = recording.end()
        assert trace.problems() == []
        assert trace.facts["events"] >= 600
        nginx.terminate()
        nginx.wait(20)
