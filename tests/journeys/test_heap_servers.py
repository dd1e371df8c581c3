# SPDX-License-Identifier: MIT
"""Servers of Debian, unchanged, under load with libheapwright.so preloaded."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from conftest import build

library = build / "lib/libheapwright.so"
limit_s = 300  # only against hanging: a machine may be busy with much else


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_until(command: list[str]) -> None:
    deadline = time.monotonic() + 120
    while subprocess.run(command, capture_output=True, check=False).returncode != 0:
        assert time.monotonic() < deadline, command
        time.sleep(0.05)


def is_loaded(pid: int) -> bool:
    return str(library.resolve()) in Path(f"/proc/{pid}/maps").read_text()


def test_redis(tmp_path: Path) -> None:
    if not shutil.which("redis-server"):
        pytest.skip("redis-server is not installed")
    port = str(free_port())
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    options = ["--port", port, "--save", "", "--dir", str(tmp_path)]
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
