# SPDX-License-Identifier: MIT
"""Real programs of Debian, unchanged, under a preloaded allocator: CPU time and peak resident bytes."""

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from heapwright.measure.program import RunFailedError
from measured_run import Figures, Runner

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
from python_load import PYTHON_LOAD  # noqa: E402

lua_load = """
local live = {}
for i = 1, 1200000 do
  live[i % 50000] = {id = i, name = "name " .. i, list = {i, i + 1}}
end
local joined = {}
for i = 1, 49999 do joined[i] = live[i].name end
print(#table.concat(joined))
"""


def z3_problem() -> str:
    """The factors of a product of two primes, as a bit-vector problem."""
    bits, product = 32, 48883 * 65521
    lines = ["(set-logic QF_BV)"]
    for name in ("x", "y"):
        lines += [f"(declare-const {name} (_ BitVec {bits}))"]
        lines += [f"(assert (bvult {name} (_ bv65536 {bits})))", f"(assert (bvugt {name} (_ bv1 {bits})))"]
    return "\n".join([*lines, f"(assert (= (bvmul x y) (_ bv{product} {bits})))", "(check-sat)", ""])


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_for(port: int) -> None:
    for _ in range(400):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.025)
    raise RuntimeError("redis-server did not start")


def measure_redis(runner: Runner, library: Path) -> Figures:
    port = str(free_port())
    load = ["redis-benchmark", "-p", port, "-n", "200000", "-c", "20", "-P", "16", "-r", "100000"]
    load += ["-q", "-t", "set,lpush,lpop,hset,sadd,zadd", "-d", "120"]
    with ThreadPoolExecutor(1) as pool:
        options = ["--port", port, "--save", "", "--appendonly", "no"]
        server = pool.submit(runner.run, library, ["redis-server", *options])
        try:
            wait_for(int(port))
            subprocess.run(load, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            raise RunFailedError(f"redis: {error}") from None
        finally:
            subprocess.run(["redis-cli", "-p", port, "shutdown", "nosave"], check=False, capture_output=True)
        return server.result()[1]


def measures(runner: Runner) -> dict[str, Callable[[Path], Figures]]:
    """By name, those whose program is installed: library → figures of one run."""
    folder = runner.folder
    (folder / "load.py").write_text(PYTHON_LOAD)
    (folder / "load.lua").write_text(lua_load)
    (folder / "load.smt2").write_text(z3_problem())
    (folder / "load.sql").write_text(f".read {project / 'examples/orders.sql'}\n.open :memory:\n" * 4)
    compile_command = ["g++", "-std=c++20", "-O2", f"-I{project / 'src'}", f"-I{project / 'include'}", "-c"]
    commands = {
        "sqlite3": ["sqlite3", ":memory:", f".read {folder / 'load.sql'}"],
        "python3": ["/usr/bin/python3", str(folder / "load.py")],
        "g++": [*compile_command, str(project / "src/analyze/analyze.cpp"), "-o", str(folder / "out.o")],
        "z3": ["z3", str(folder / "load.smt2")],
        "lua": ["lua5.4", str(folder / "load.lua")],
    }

    def measure_of(name: str) -> Callable[[Path], Figures]:
        # Python's own small-object allocator would hide the heap.
        extra = {"PYTHONMALLOC": "malloc"} if name == "python3" else {}
        return lambda library: runner.run(library, commands[name], extra)[1]

    found = {name: measure_of(name) for name, command in commands.items() if shutil.which(command[0])}
    if shutil.which("redis-server") and shutil.which("redis-benchmark"):
        found["redis"] = lambda library: measure_redis(runner, library)
    return found
