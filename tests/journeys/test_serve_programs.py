# SPDX-License-Identifier: MIT
"""What serve says of programs: sums over restarts, and with processes that ended between scrapes."""

import os
import signal
import subprocess
import time
from pathlib import Path

from conftest import command, programs
from counting import Running, ask, count, environment, folder, library
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from serving import Served, served, serving, until

__all__ = ["served"]

KEEPS = "import os, sys; x = [bytearray(9000) for _ in range({})]; {}"


def of_programs(one: Served) -> dict[tuple[str, str], float]:
    """By name and program, summed over other labels."""
    found: dict[tuple[str, str], float] = {}
    for family in text_string_to_metric_families(one.get()):
        for sample in family.samples:
            if sample.name.startswith("heap_program") and "pid" not in sample.labels:
                key = sample.name, sample.labels["program"]
                found[key] = found.get(key, 0) + sample.value
    return found


def is_ready(one: Served) -> bool:
    """Its pipe stands before it is scraped first, a moment after it has said where it is."""
    return bool(
        until(lambda: (folder / f"heapwright-{'root' if not os.geteuid() else os.geteuid()}.serve").exists())
    )


def run(code: str, name: Path) -> int:
    """Of a Python with a name of its own, as other tests run beside this one."""
    if not name.exists():
        name.symlink_to("/usr/bin/python3")
    variables = {**os.environ, "LD_PRELOAD": str(library)}
    return subprocess.run([name, "-S", "-E", "-c", code], env=variables, check=False, timeout=60).returncode


def test_processes_that_end_between_scrapes_are_counted_once(served: Served, tmp_path: Path) -> None:
    assert is_ready(served)
    name = tmp_path / "short_shop"
    asked = 9000 * 500
    assert run(KEEPS.format(500, "pass"), name) == 0
    assert run(KEEPS.format(500, "os._exit(3)"), name) == 3
    assert run(KEEPS.format(500, "os.kill(os.getpid(), 9)"), name) == -9
    assert run(KEEPS.format(500, "os.execv('/bin/true', ['true'])"), name) == 0
    key = ("heap_program_processes_total", "short_shop")
    assert until(lambda: of_programs(served).get(key) == 4), of_programs(served)
    told = of_programs(served)
    assert told[("heap_program_processes_total", "true")] >= 1, "the image that came by exec"
    requested = told[("heap_program_requested_bytes_total", "short_shop")]
    assert 4 * asked < requested < 4 * (asked + (4 << 20))
    time.sleep(3)  # pages are removed when they are two seconds old
    assert of_programs(served)[("heap_program_requested_bytes_total", "short_shop")] == requested


def test_what_count_ran_between_scrapes_is_counted_by_both(served: Served, tmp_path: Path) -> None:
    """count takes the pages of its program and of what that executed; the server has them as well."""
    assert is_ready(served)
    name = tmp_path / "counted_shop"
    name.symlink_to("/usr/bin/python3")
    line = "import os; x = [bytearray(9000) for _ in range(500)]; os.execv('/bin/true', ['true'])"
    document = count(name, "-S", "-E", "-c", line)
    (shop,) = (one for one in document["processes"] if one["program"] == "counted_shop")
    key = ("heap_program_requested_bytes_total", "counted_shop")
    assert until(lambda: of_programs(served).get(key) == shop["requested_bytes"]), of_programs(served)
    assert of_programs(served)[("heap_program_processes_total", "counted_shop")] == 1
    assert until(lambda: not list(folder.glob(f"heapwright-{shop['process']}*"))), "nobody waits for them"


def test_sums_go_on_over_a_restart(served: Served, tmp_path: Path) -> None:
    assert is_ready(served)
    name = tmp_path / "long_shop"
    name.symlink_to("/usr/bin/cat")
    key = ("heap_program_calls_total", "long_shop")
    last = 0.0
    for number in range(1, 4):
        running = Running(name)
        assert until(lambda: of_programs(served).get(key, 0) > last)  # noqa: B023
        last = of_programs(served)[key]
        assert of_programs(served)[("heap_program_processes_total", "long_shop")] == number
        os.kill(running.process.pid, signal.SIGKILL)
        running.process.communicate()
        assert of_programs(served)[key] >= last
    assert until(lambda: not running.path.exists())


def test_threads_that_come_and_go_never_make_a_sum_fall(served: Served) -> None:
    assert is_ready(served)
    key = ("heap_program_calls_total", "threads_come_and_go")
    before = of_programs(served).get(key, 0)
    looks = []
    for _ in range(3):
        running = Running(programs / "threads_come_and_go", 300, 50)
        while running.process.poll() is None:
            looks.append(of_programs(served).get(key, before))
        running.process.communicate()
    assert until(lambda: of_programs(served).get(key, 0) > before)
    looks.append(of_programs(served)[key])
    assert looks == sorted(looks)


def test_a_second_server_says_that_it_does_not_take_them(served: Served) -> None:
    assert is_ready(served)
    line = [str(command), "serve", "--port", "0", "--json"]
    with subprocess.Popen(
        line, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as second:
        assert second.stdout is not None
        assert second.stderr is not None
        second.stdout.readline()
        said = until(lambda: second.stderr and second.stderr.readline())
        second.terminate()
        rest = second.stderr.read()
    assert "another heapwright serve takes the last figures" in said + rest


def test_without_a_server_pages_go_with_their_process() -> None:
    with serving() as one:
        assert is_ready(one)
    pipe = folder / f"heapwright-{'root' if not os.geteuid() else os.geteuid()}.serve"
    if not pipe.exists():  # else another test has one
        running = Running("cat")
        running.process.communicate()
        assert not running.path.exists()


def test_once_has_no_sums() -> None:
    running = Running("cat")
    text = ask("serve", "--once").stdout
    running.end()
    assert "process_memory_bytes{" in text
    assert "heap_program" not in text
