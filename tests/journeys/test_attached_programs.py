# SPDX-License-Identifier: MIT
"""Programs that know nothing of us, counted while they run: interpreters, servers, other allocators, forks."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from attaching import Attached, Server, answer, changed_code, python, totals_of
from conftest import command
from counting import ask, environment, folder, only


def test_threads_that_end_release_nothing_of_the_program() -> None:
    """glibc releases its own caches by free() then, and starts threads with blocks of its own."""
    script = (
        "import sys, threading\nlibc = __import__('ctypes').CDLL(None)\n"
        "libc.malloc.restype = __import__('ctypes').c_void_p\nlibc.free.argtypes = [__import__('ctypes').c_void_p]\n"
        "def work():\n    for block in [libc.malloc(size) for size in range(8, 800, 8)]: libc.free(block)\n"
        "def run():\n    for _ in range(200):\n"
        "        one = threading.Thread(target=work); one.start(); one.join()\n"
        "run()\nprint('ready', flush=True)\nsys.stdin.readline()\nrun()\nprint('done', flush=True)\nsys.stdin.readline()"
    )
    with python(script) as process:
        attached = Attached(process.pid)
        answer(process)
        totals = totals_of(process.pid)
        attached.end()
        answer(process)
    # Python's own, and one after the other at the same address.
    assert 200 <= totals["threads_begun"] <= 202, totals
    # Each thread leaves a cache full of blocks: 200 times 64 and more.
    assert abs(totals["live_blocks"]) < 1000, totals
    assert totals["made_blocks"] > 200 * 99


def test_count_answers_like_count() -> None:
    script = (
        "import sys\nprint('ready', flush=True)\nkept = []\n"
        "while True:\n    kept.append(bytearray(5000))\n    if len(kept) > 2000: kept.clear()"
    )
    with python(script) as process:
        result = ask("count", "--pid", str(process.pid), "--duration", "0.5", "--interval", "0.2")
        assert result.returncode == 0, result.stderr
        # Long figures make the line wrap.
        assert "blocks from before the attach: unknown" in " ".join(result.stdout.split())
        assert "python3" in result.stdout
        assert "still running" in result.stdout
        assert f"counting process {process.pid} for 500 ms; its 1 thread stopped for" in result.stderr
        assert result.stderr.count("calls/s") == 2
        assert not (folder / f"heapwright-{process.pid}.calls").exists()
        process.kill()


def test_ctrl_c_ends_the_counting_alone() -> None:
    script = "print('ready', flush=True)\nwhile True: bytearray(5000)"
    with python(script) as process:
        line = [str(command), "count", "--json", "--pid", str(process.pid)]
        counting = subprocess.Popen(
            line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        assert counting.stderr is not None
        assert "until Ctrl-C" in counting.stderr.readline()
        time.sleep(0.2)
        counting.send_signal(signal.SIGINT)
        output, errors = counting.communicate(timeout=30)
        assert counting.returncode == 0, errors
        assert only(json.loads(output))["made_blocks"] > 100
        assert process.poll() is None
        assert changed_code(process.pid) == []
        process.kill()


def test_a_killed_command_leaves_no_patch() -> None:
    script = "print('ready', flush=True)\nwhile True: bytearray(5000)"
    with python(script) as process:
        counting = subprocess.Popen(
            [str(command), "count", "--pid", str(process.pid)],
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        assert counting.stderr is not None
        counting.stderr.readline()
        counting.kill()
        counting.communicate()
        deadline = time.monotonic() + 10
        while changed_code(process.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert changed_code(process.pid) == []
        process.kill()


def test_a_process_that_ends_meanwhile_is_told_of() -> None:
    script = (
        "import sys\nprint('ready', flush=True)\nsys.stdin.readline()\nfor _ in range(5000): bytearray(5000)"
    )
    for ending, extra in (
        ("", "import os; os._exit(0)"),
        ("exec", "import os; os.execv('/bin/sleep', ['sleep', '5'])"),
    ):
        with python(f"{script}\n{extra}") as process:
            line = [str(command), "count", "--json", "--pid", str(process.pid), "--duration", "20"]
            counting = subprocess.Popen(
                line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
            )
            assert counting.stderr is not None
            counting.stderr.readline()
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
            output, errors = counting.communicate(timeout=15)
            document = json.loads(output)
            assert ("executed another" if ending else "ended,") in document["notes"][0], errors
            assert only(document)["calls"]["malloc"] + only(document)["calls"]["calloc"] >= 5000
            assert only(document)["is_running"] == bool(ending)
            process.kill()


def test_children_of_a_fork_are_unharmed_and_not_counted() -> None:
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
        for _ in range(20):
            attached = Attached(process.pid)
            time.sleep(0.05)
            attached.end()
        attached = Attached(process.pid)
        time.sleep(0.3)
        totals = totals_of(process.pid)
        attached.end()
        assert process.poll() is None
        # The parent makes a few blocks for each child, and each child 3,000.
        assert totals["made_blocks"] < 3000
        process.kill()


def test_a_child_can_be_attached_to_after_its_parent() -> None:
    """It has its parent's patches, and is rid of them then."""
    script = """
import os, sys
print('ready', flush=True)
sys.stdin.readline()
child = os.fork()
if child == 0:
    while True:
        bytearray(5000)
print(child, flush=True)
sys.stdin.readline()
"""
    with python(script) as process:
        attached = Attached(process.pid)
        child = int(answer(process))
        attached.end()
        try:
            assert changed_code(process.pid) == []
            assert changed_code(child) != []
            result = ask("count", "--json", "--pid", str(child), "--duration", "0.3")
            document = json.loads(result.stdout)
            assert only(document)["calls"]["malloc"] + only(document)["calls"]["calloc"] > 100
            assert changed_code(child) == []
        finally:
            os.kill(child, signal.SIGKILL)
        answer(process)


@pytest.mark.parametrize("allocator", ["libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4"])
def test_any_allocator_is_counted(allocator: str) -> None:
    path = Path("/usr/lib/x86_64-linux-gnu") / allocator
    if not path.exists():
        pytest.skip(f"{allocator} is not here")
    with Server(preload=str(path)) as server:
        server.go()
        time.sleep(0.2)
        before = server.pause()
        attached = Attached(server.pid)
        server.go()
        time.sleep(0.5)
        after = server.pause()
        totals = totals_of(server.pid)
        attached.end()
        server.go()
        assert changed_code(server.pid) == []
        server.pause()
        assert server.quit() == 0
    truth = {name: after[name] - before[name] for name in after}
    calls = totals["calls"]
    assert allocator.split(".")[0] in totals["allocator"]
    for name in ("malloc", "calloc", "realloc", "aligned", "new"):
        assert calls[name] == truth[name], (name, calls, truth)
    # delete may be another name of free.
    assert calls["free"] + calls["delete"] == truth["free"] + truth["delete"]
    assert totals["live_blocks"] == 0


def wait_for_port(port: int) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)


def test_redis_under_load_answers_everything() -> None:
    if shutil.which("redis-server") is None or shutil.which("redis-benchmark") is None:
        pytest.skip("needs redis")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    line = ["redis-server", "--port", str(port), "--save", "", "--daemonize", "no"]
    with subprocess.Popen(line, stdout=subprocess.DEVNULL) as redis:
        wait_for_port(port)
        load = ["redis-benchmark", "-p", str(port), "-n", "60000", "-c", "20", "-t", "set,get,lpush", "--csv"]
        client = subprocess.Popen(load, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(20):
            attached = Attached(redis.pid)
            time.sleep(0.02)
            attached.end()
        output = client.communicate(timeout=120)[0]
        assert client.returncode == 0, output
        assert len(re.findall(r'^"(?:SET|GET|LPUSH)', output, re.MULTILINE)) == 3, output
        result = ask("count", "--pid", str(redis.pid), "--duration", "0.1", "--json")
        assert "jemalloc" in only(json.loads(result.stdout))["allocator"]
        redis.terminate()
        assert redis.wait(20) == 0
