# SPDX-License-Identifier: MIT
"""Servers of Debian, unchanged, under load with libheapwright.so preloaded."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import build, project

sys.path.append(str(project / "bench"))
import fastcgi

pytestmark = pytest.mark.full

library = build / "lib/libheapwright.so"
limit_s = 300  # only against hanging: a machine may be busy with much else


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_until(command: list[str | Path]) -> None:
    deadline = time.monotonic() + 120
    while subprocess.run(command, capture_output=True, check=False).returncode != 0:
        assert time.monotonic() < deadline, command
        time.sleep(0.05)


def is_loaded(pid: int) -> bool:
    return str(library.resolve()) in Path(f"/proc/{pid}/maps").read_text()


@pytest.mark.parametrize("threads", [(), ("--io-threads", "2", "--io-threads-do-reads", "yes")])
def test_redis(tmp_path: Path, threads: tuple[str, ...]) -> None:
    if not shutil.which("redis-server"):
        pytest.skip("redis-server is not installed")
    port = str(free_port())
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    options = ["--port", port, "--save", "", "--dir", str(tmp_path), *threads]
    server = subprocess.Popen(["redis-server", *options], env=environment, stdout=subprocess.DEVNULL)
    client = ["redis-cli", "-p", port]
    try:
        wait_until([*client, "ping"])
        assert is_loaded(server.pid)
        load = [
            "redis-benchmark",
            "-p",
            port,
            "-n",
            "20000",
            "-c",
            "20",
            "-P",
            "8",
            "-r",
            "5000",
            "-d",
            "300",
        ]
        subprocess.run([*load, "-q", "-t", "set,lpush,lpop,hset,zadd"], check=True, capture_output=True)
        said = subprocess.run([*client, "dbsize"], check=True, capture_output=True, text=True).stdout
        assert int(said) > 1000
        counts = subprocess.run([*client, "info", "stats"], check=True, capture_output=True, text=True).stdout
        assert ("io_threaded_reads_processed:0\n" in counts) == (not threads)
        # A snapshot is written by a forked child.
        assert subprocess.run([*client, "save"], check=True, capture_output=True, text=True).stdout == "OK\n"
        subprocess.run([*client, "bgsave"], check=True, capture_output=True)
        subprocess.run([*client, "flushall"], check=True, capture_output=True)
        subprocess.run([*client, "shutdown", "nosave"], check=False, capture_output=True)
        assert server.wait(120) == 0
    finally:
        server.kill()
        server.wait()


def test_nginx(tmp_path: Path) -> None:
    if not shutil.which("nginx"):
        pytest.skip("nginx is not installed")
    tmp_path.chmod(0o755)
    port = free_port()
    (tmp_path / "page.txt").write_text("a page\n" * 5000)
    temporary = "".join(
        f"{kind}_temp_path {tmp_path};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;\n" if os.getuid() == 0 else ""
    (tmp_path / "nginx.conf").write_text(
        f"{user}daemon off;\nworker_processes 2;\npid {tmp_path}/pid;\nerror_log stderr;\nevents {{}}\n"
        f"http {{ access_log off;\n{temporary}gzip on; gzip_types text/plain;\n"
        f"server {{ listen 127.0.0.1:{port}; root {tmp_path}; }} }}\n"
    )
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    command = ["nginx", "-e", "stderr", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")]
    server = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    address = f"http://127.0.0.1:{port}/page.txt"
    try:
        wait_until(["curl", "-sf", address])
        assert is_loaded(server.pid)
        for _ in range(3):
            many = ["curl", "-sf", "--compressed", "-Z", *[address] * 50]
            got = subprocess.run(many, check=True, capture_output=True, text=True).stdout
            assert got == "a page\n" * 5000 * 50
            server.send_signal(1)  # HUP: new workers, old ones end
            time.sleep(0.2)
        server.terminate()
        assert server.wait(120) == 0
    finally:
        server.kill()
        errors = server.communicate()[1]
    assert "signal" not in errors.replace("signal process", ""), errors


PHP_FPM = """
[global]
pid = {folder}/pid
error_log = {folder}/log
[www]
listen = 127.0.0.1:{port}
pm = static
pm.max_children = 3
{user}
"""

PHP_SCRIPT = """<?php
$rows = array_map(fn($i) => ["id" => $i, "name" => "name $i", "tags" => range(0, $i % 9)], range(1, 2000));
$rows = json_decode(json_encode($rows), true);
usort($rows, fn($a, $b) => strcmp($a["name"], $b["name"]));
echo count($rows), " ", $rows[1999]["name"], " ", mb_strtoupper(str_repeat("ä", strlen(serialize($rows)) % 7));
"""


def php_answers(port: int, script: Path) -> set[str]:
    """Of 60 requests by four clients."""

    def ask(_: int) -> str:
        return fastcgi.ask(port, SCRIPT_FILENAME=str(script), REQUEST_METHOD="GET")

    with ThreadPoolExecutor(4) as clients:
        return set(clients.map(ask, range(60)))


@pytest.mark.parametrize("is_hardened", ["0", "1"])
def test_php_fpm(tmp_path: Path, is_hardened: str) -> None:
    managers = sorted(Path("/usr/sbin").glob("php-fpm*"))
    if not managers or not shutil.which("php"):
        pytest.skip("php-fpm is not installed")
    port, is_root = free_port(), os.getuid() == 0
    settings, script = tmp_path / "conf", tmp_path / "script.php"
    settings.write_text(PHP_FPM.format(folder=tmp_path, port=port, user="user = root" if is_root else ""))
    script.write_text(PHP_SCRIPT)
    expected = subprocess.run(["php", script], check=True, capture_output=True, text=True).stdout
    heap = {"LD_PRELOAD": str(library), "HEAPWRIGHT_HEAP_HARDENED": is_hardened, "USE_ZEND_ALLOC": "0"}
    command = [managers[-1], "-F", "-y", settings, *(["-R"] if is_root else [])]
    server = subprocess.Popen(command, env=os.environ | heap, stderr=subprocess.DEVNULL)
    try:
        wait_until(["bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port}"])
        assert is_loaded(server.pid)
        assert php_answers(port, script) == {expected}
        server.send_signal(signal.SIGUSR2)  # it executes itself anew
        wait_until(["grep", "-q", "reloading", tmp_path / "log"])
        wait_until(["bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port}"])
        assert php_answers(port, script) == {expected}
        server.send_signal(signal.SIGQUIT)
        assert server.wait(120) == 0
    finally:
        server.kill()
        server.wait()
    assert "signal" not in (tmp_path / "log").read_text()


def run_postgres(folder: Path, user: str | None) -> None:
    tools = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
    environment = {**os.environ, "LD_PRELOAD": str(library), "LC_ALL": "C", "PGHOST": str(folder)}

    def call(*command: object) -> str:
        line = [str(part) for part in command]
        done = subprocess.run(
            line,
            env=environment,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            user=user,
            timeout=limit_s,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    call(tools / "initdb", "-D", folder / "data", "-U", "tester", "--no-sync")
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
    call(tools / "pg_ctl", "-D", folder / "data", "-l", folder / "log", "-o", options, "-w", "start")
    try:
        sql = (
            "create table t as select n, md5(n::text) m from generate_series(1, 50000) n; create index on t(m);"
            "select count(*), sum(length(m)) from t; select count(distinct left(m, 2)) from t;"
        )
        said = call("psql", "-U", "tester", "-d", "postgres", "-Atq", "-c", sql)
        assert said.split() == ["50000|1600000", "256"]
    finally:
        call(tools / "pg_ctl", "-D", folder / "data", "-m", "fast", "-w", "stop")
    assert "terminated by signal" not in (folder / "log").read_text()


def test_postgres() -> None:
    if not list(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        pytest.skip("postgresql is not installed")
    # It refuses root, and another user may not enter a folder of pytest's.
    user = "nobody" if os.getuid() == 0 else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if user:
            shutil.chown(folder, user)
        run_postgres(folder, user)
