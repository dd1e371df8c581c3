# SPDX-License-Identifier: MIT
"""Pages of counters while their process lives, ends, is killed or replaced; top beside the kernel."""

import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import termios
import time
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import build, command, programs
from counting import Running, ask, checked, folder, library
from serving import until


def test_the_page_is_its_owners_and_goes_with_the_process() -> None:
    running = Running("cat")
    assert running.path.stat().st_mode & 0o777 == 0o600
    running.process.communicate()
    assert until(lambda: not running.path.exists()), "a server of another test may take it, within a second"


def test_what_a_killed_process_leaves_goes_with_the_next_look() -> None:
    running = Running("cat")
    running.end()
    assert running.path.exists()
    os.utime(running.path, (0, 0))
    assert ask("top", "--once", "--interval", "0.1").returncode == 0
    assert until(lambda: not running.path.exists())


def test_what_is_kept_for_a_living_reader_stays() -> None:
    own = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    os.environ["HEAPWRIGHT_COUNT_KEEPER"] = f"{os.getpid()}:{own}"
    try:
        running = Running("true")
        running.process.communicate()
    finally:
        del os.environ["HEAPWRIGHT_COUNT_KEEPER"]
    os.utime(running.path, (0, 0))
    ask("top", "--once", "--interval", "0.1")
    assert running.path.exists()
    running.path.unlink()


def test_a_later_process_with_the_same_id_is_not_taken_for_it() -> None:
    running = Running("cat")
    with running.path.open("r+b") as file:
        file.seek(24)
        file.write(struct.pack("<Q", 1))
    os.utime(running.path, (0, 0))
    result = ask("count", "--pid", str(running.process.pid))
    assert result.returncode == 2
    assert until(lambda: not running.path.exists())
    running.end()


def test_an_image_that_was_replaced_is_not_shown() -> None:
    target = shutil.which("sleep") or "sleep"
    running = Running("/bin/sh", "-c", f"unset LD_PRELOAD; exec {target} 60")
    deadline = time.monotonic() + 20
    while Path(f"/proc/{running.process.pid}/comm").read_text() != "sleep\n" and time.monotonic() < deadline:
        time.sleep(0.01)
    os.utime(running.path, (0, 0))
    result = ask("top", "--once", "--json", "--interval", "0.1")
    assert str(running.process.pid) not in result.stdout
    assert until(lambda: not running.path.exists())
    running.end()


def test_sums_never_run_backwards_while_threads_come_and_go() -> None:
    running = Running(programs / "threads_come_and_go", 6000, 200)
    read = f"""
import json, sys
from heapwright.live import figures
from heapwright.live.page import PageError, read_page
last, reads, live = None, 0, []
while True:
    try:
        calls = read_page({str(running.path)!r}).calls
    except PageError:
        break
    now = [*calls.by_function.values(), calls.requested_bytes, calls.usable_bytes, calls.released_bytes,
           calls.threads_begun, calls.threads_ended, calls.making.calls, *calls.sizes]
    assert last is None or all(new >= old for new, old in zip(now, last)), (now, last)
    assert figures.live_blocks(calls) >= 0 and figures.live_bytes(calls) >= 0, calls
    last = now
    reads += 1
print(json.dumps(reads))
"""
    result = subprocess.run(
        [str(command.parent / "python"), "-c", read], capture_output=True, text=True, check=False, timeout=120
    )
    running.process.communicate()
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) > 3


def test_resident_and_live_memory_of_top_are_the_kernels_and_the_programs() -> None:
    script = (
        "import sys\nkept = [bytearray(4000) for _ in range(20000)]\nprint(1, flush=True)\nsys.stdin.read()"
    )
    running = Running("/usr/bin/python3.11", "-S", "-E", "-c", script)
    assert running.process.stdout is not None
    running.process.stdout.readline()
    document = checked(ask("top", str(running.process.pid), "--json", "--interval", "0.2").stdout)
    (row,) = document["processes"]
    rollup = Path(f"/proc/{running.process.pid}/smaps_rollup").read_text()
    resident = next(int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith("Rss:"))
    running.end()
    assert row["live_bytes"] == pytest.approx(20000 * 4008, rel=0.05)
    assert row["resident_bytes"] == pytest.approx(resident, rel=0.03)
    assert row["calls_per_s"] == 0
    assert row["overhead"] == pytest.approx(row["resident_bytes"] / row["live_bytes"], rel=0.01)


def test_privileged_programs_are_left_alone(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    target = tmp_path / "raised"
    shutil.copy("/usr/bin/cat", target)
    tmp_path.chmod(0o755)
    os.chown(target, 65534, 65534)
    target.chmod(0o4755)
    environment, pipe = {**os.environ, "LD_PRELOAD": str(library)}, subprocess.PIPE
    for program, has_page in (("/usr/bin/cat", True), (str(target), False)):
        with subprocess.Popen([program], env=environment, stdin=pipe, stdout=pipe) as process:
            assert process.stdin is not None and process.stdout is not None
            os.write(process.stdin.fileno(), b"x")
            assert os.read(process.stdout.fileno(), 1) == b"x"  # it has begun
            assert (folder / f"heapwright-{process.pid}.calls").exists() is has_page


def test_our_heaps_own_page_is_shown_beside_the_calls() -> None:
    both = f"{library}:{build / 'lib/libheapwright.so'}"
    environment = {**os.environ, "LD_PRELOAD": both, "HEAPWRIGHT_HEAP_COUNTERS": "1"}
    with subprocess.Popen(["cat"], env=environment, stdin=subprocess.PIPE) as process:
        deadline = time.monotonic() + 20
        while not (folder / f"heapwright-{process.pid}").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        document = checked(ask("top", str(process.pid), "--json", "--interval", "0.2").stdout)
        process.communicate()
    (row,) = document["processes"]
    assert row["contended_per_s"] == 0
    assert row["live_blocks"] > 0
    assert document["process"]["allocator"].endswith("libheapwright.so")


def test_the_screen_goes_on_until_it_is_told_to_end() -> None:
    running = Running("cat")
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 60, 0, 0))
    line = [str(command), "top", "--interval", "0.2"]
    # In the background of a shell SIGINT is ignored, and what it starts inherits that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(line, stdin=end, stdout=end, stderr=end, start_new_session=True) as top:
        signal.signal(signal.SIGINT, before)
        os.close(end)
        shown = b""
        while shown.count(str(running.process.pid).encode()) < 3:
            assert select.select([terminal], [], [], 30)[0], shown
            shown += os.read(terminal, 4096)
        top.send_signal(signal.SIGINT)
        with suppress(OSError):  # what it says at its end
            while os.read(terminal, 4096):
                pass
    os.close(terminal)
    running.end()
    assert top.returncode == 130
    row = next(part for part in shown.split(b"\n") if str(running.process.pid).encode() in part)
    assert b"cat" in row


def test_redis_holds_as_much_as_it_says_itself(tmp_path: Path) -> None:
    """Its used_memory is what malloc_usable_size told it of its own blocks; libraries of it have others."""
    if shutil.which("redis-server") is None:
        pytest.skip("needs redis-server")
    socket = tmp_path / "s"
    options = (
        "--port",
        0,
        "--unixsocket",
        socket,
        "--save",
        "",
        "--dir",
        tmp_path,
        "--enable-debug-command",
        "yes",
    )
    running = Running("redis-server", *options)
    deadline = time.monotonic() + 20
    while not socket.exists() and time.monotonic() < deadline:
        time.sleep(0.05)

    def redis(*line: str) -> str:
        asked = ["redis-cli", "-s", str(socket), *line]
        return subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60).stdout

    redis("debug", "populate", "20000", "key", "300")
    used = next(
        int(line[12:]) for line in redis("info", "memory").splitlines() if line.startswith("used_memory:")
    )
    document = checked(ask("top", str(running.process.pid), "--json", "--interval", "0.2").stdout)
    running.end()
    (row,) = document["processes"]
    assert row["program"] == "redis-server"
    assert 8_000_000 < used <= row["live_bytes"] * 1.02
    assert row["live_bytes"] == pytest.approx(used, rel=0.1)
