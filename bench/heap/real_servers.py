# SPDX-License-Identifier: MIT
"""Servers of Debian under a load of clients, which ends them."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from io import BufferedIOBase
from pathlib import Path

import threaded_servers
from measured_run import Program, installed

sys.path.append(str(Path(__file__).resolve().parents[1]))
import fastcgi
import servers as loads

_CLIENTS = 4
_PAGES = 3000
_PIPELINED = 20
_SCRIPTS = 300

_NGINX = """
daemon off; worker_processes 2; pid {folder}/nginx.pid; error_log stderr crit;
{user}
events {{ worker_connections 256; }}
http {{
  access_log off; gzip on; gzip_types text/plain; gzip_min_length 100; keepalive_requests 1000000;
  server {{
    listen 127.0.0.1:{port};
    location / {{ root {folder}/pages; default_type text/plain; }}
    location /passed/ {{ proxy_pass http://127.0.0.1:{port}/; }}
  }}
}}
"""

_PHP_FPM = """
[global]
pid = {folder}/php-fpm.pid
error_log = /dev/stderr
log_level = warning
[www]
listen = 127.0.0.1:{port}
pm = static
pm.max_children = 3
{user}
"""

# Texts in and out of JSON, and sorted.
_SCRIPT = """<?php
parse_str($_SERVER["QUERY_STRING"], $asked);
$rows = [];
for ($i = 0; $i < $asked["rows"]; $i++) {
  $rows[] = ["id" => $i, "name" => "name " . $i * 7919 % 5003, "tags" => range(0, $i % 9)];
}
$rows = json_decode(json_encode($rows), true);
usort($rows, fn($a, $b) => strcmp($a["name"], $b["name"]));
echo count($rows), " rows, the first is ", $rows[0]["name"];
"""

# What allocates: hash joins, sorts, texts and JSON that are put together.
_QUERIES = """
create temp table t as select n, md5(n::text) m, n % 977 g from generate_series(1, 150000) n;
select count(*), sum(length(m)) from t;
select count(*) from (select g, string_agg(m, ',' order by m) from t group by g) joined;
select count(*) from t a join t b on a.m = b.m;
select length(json_agg(t)::text) from t;
select count(distinct left(m, 4)) from t;
"""


def servers(folder: Path) -> dict[str, Program]:
    """By name, those that are installed; folder: for what they read and write."""
    found = {
        "redis": _redis(),
        "redis, I/O threads": _redis_with_io_threads(),
        "memcached, threads": _memcached(),
        "nginx": _nginx(folder),
    }
    managers = sorted(Path("/usr/sbin").glob("php-fpm*"))
    if managers:
        found["php-fpm"] = _php_fpm(folder, managers[-1])
    tools = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if tools:
        found["postgres"] = _postgres(folder, tools[-1])
    return installed(found | threaded_servers.servers(folder))


def _redis_with_io_threads() -> Program:
    """An I/O thread spins until the main thread has carried out what all have read: at 16 to 1000 requests
    in a pipeline 46 to 53 % of all CPU time, and the main thread spins for another 2 to 6 %."""
    threads = ["--io-threads", "2", "--io-threads-do-reads", "yes"]
    return replace(_redis(pipelined=256, more=threads), spins=True)


def _redis(pipelined: int = 16, more: Sequence[str] = ()) -> Program:
    port = str(loads.free_port())
    load = ["redis-benchmark", "-p", port, "-n", "200000", "-c", "20", "-P", str(pipelined), "-r", "100000"]
    load += ["-q", "-t", "set,lpush,lpop,hset,sadd,zadd", "-d", "120"]

    def work() -> None:
        loads.wait_for(int(port))
        try:
            subprocess.run(load, check=True, capture_output=True)
        finally:
            subprocess.run(["redis-cli", "-p", port, "shutdown", "nosave"], check=False, capture_output=True)

    command = ["redis-server", "--port", port, "--save", "", "--appendonly", "no", *more]
    return Program(command, {}, work)


def _memcached() -> Program:
    port = loads.free_port()
    command = ["memcached", "-t", "4", "-p", str(port), "-U", "0", "-l", "127.0.0.1", "-m", "64", "-A"]
    if os.geteuid() == 0:
        command += ["-u", "root"]
    return Program(command, {}, loads.memcached_load(port, batches=40))


def _nginx(folder: Path) -> Program:
    port = loads.free_port()
    command = ["nginx", "-e", "stderr", "-c", str(_nginx_site(folder, port))]
    return Program(command, {}, _pages(folder, port))


def _nginx_site(folder: Path, port: int) -> Path:
    """Its settings; the pages are texts of 1 to 60 KB."""
    (folder / "pages").mkdir()
    for page in range(20):
        text = "".join(f"line {line * page % 97} of page {page}\n" for line in range(50 + 150 * page))
        (folder / f"pages/{page}.txt").write_text(text)
    user = "user root;" if os.geteuid() == 0 else ""
    settings = folder / "nginx.conf"
    settings.write_text(_NGINX.format(folder=folder, port=port, user=user))
    return settings


def _pages(folder: Path, port: int) -> Callable[[], None]:
    def fetch(number: int) -> None:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            answers = connection.makefile("rb")
            for first in range(0, _PAGES, _PIPELINED):
                pages = range(first, first + _PIPELINED)
                connection.sendall(b"".join(_request(page, number) for page in pages))
                for _ in pages:
                    _read_answer(answers)

    def work() -> None:
        loads.wait_for(port)
        with ThreadPoolExecutor(_CLIENTS) as clients:
            list(clients.map(fetch, range(_CLIENTS)))
        os.kill(int((folder / "nginx.pid").read_text()), signal.SIGQUIT)

    return work


def _request(page: int, client: int) -> bytes:
    """Each second one is passed on, so that nginx has it from itself."""
    path = f"{'/passed' * (page % 2)}/{(page + client) % 20}.txt"
    return f"GET {path} HTTP/1.1\r\nHost: here\r\nAccept-Encoding: gzip\r\n\r\n".encode()


def _read_answer(answers: BufferedIOBase) -> None:
    """With a length, or in chunks; RuntimeError unless it is a page."""
    status = answers.readline()
    if b" 200 " not in status:
        raise RuntimeError(f"nginx answers {status!r}")
    length = 0
    while (line := answers.readline()) not in (b"\r\n", b""):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    if length:
        answers.read(length)
        return
    while size := int(answers.readline(), 16):
        answers.read(size + 2)
    answers.readline()


def _php_fpm(folder: Path, manager: Path) -> Program:
    """Without the shared extensions, as php is; PHP's own allocator would hide the heap."""
    port = loads.free_port()
    settings, script = folder / "php-fpm.conf", folder / "script.php"
    is_root = os.geteuid() == 0
    settings.write_text(_PHP_FPM.format(folder=folder, port=port, user="user = root" if is_root else ""))
    script.write_text(_SCRIPT)

    def ask(number: int) -> None:
        rows = 1000 + number * 7919 % 3000
        asked = {"QUERY_STRING": f"rows={rows}", "SCRIPT_FILENAME": str(script), "REQUEST_METHOD": "GET"}
        said = fastcgi.ask(port, **asked)
        if said != f"{rows} rows, the first is name 0":
            raise RuntimeError(f"php-fpm answers {said!r}")

    def work() -> None:
        loads.wait_for(port)
        try:
            with ThreadPoolExecutor(_CLIENTS) as clients:
                list(clients.map(ask, range(_SCRIPTS)))
        finally:
            os.kill(int((folder / "php-fpm.pid").read_text()), signal.SIGQUIT)

    command = [str(manager), "-n", "-F", "-y", str(settings), *(["-R"] if is_root else [])]
    return Program(command, {"USE_ZEND_ALLOC": "0"}, work)


def _postgres(folder: Path, tools: Path) -> Program:
    """Clients look up rows, and queries join, sort and put together texts; each has a process of its own."""
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    home = folder / "postgres"
    folder.chmod(0o755)
    home.mkdir()
    if user:
        shutil.chown(home, "postgres")
    queries = folder / "queries.sql"
    queries.write_text(_QUERIES)

    def call(tool: str, *words: object) -> None:
        line = [*user, str(tools / tool), *map(str, words)]
        subprocess.run(line, check=True, capture_output=True, cwd=home)

    call("initdb", "-D", home / "data", "-U", "tester", "--no-sync", "--auth=trust")
    client = ["-h", home, "-U", "tester"]

    def work() -> None:
        deadline = time.monotonic() + 20
        while not _is_ready(tools, home) and time.monotonic() < deadline:
            time.sleep(0.05)
        call("pgbench", "-i", "-q", *client, "postgres")
        call("pgbench", "-S", "-c", 4, "-t", 2500, *client, "postgres")
        call("psql", "-q", "-f", queries, "-d", "postgres", *client)
        call("pg_ctl", "-D", home / "data", "-m", "fast", "-w", "stop")

    settings = ["-k", str(home), "-h", "", "-F", "-c", "shared_buffers=32MB", "-c", "work_mem=64MB"]
    command = [
        *user,
        str(tools / "postgres"),
        "-D",
        str(home / "data"),
        "-k",
        str(home),
        "-h",
        "",
        "-F",
        *settings,
    ]
    return Program(command, {}, work)


def _is_ready(tools: Path, home: Path) -> bool:
    return subprocess.run([tools / "pg_isready", "-q", "-h", home], check=False).returncode == 0
