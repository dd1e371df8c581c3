# SPDX-License-Identifier: MIT
"""Servers and interpreters whose threads make and free blocks side by side, under loads that end them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

from measured_run import Program

sys.path.append(str(Path(__file__).resolve().parents[1]))
import servers as loads

# Each thread replaces texts of random sizes at random; a collection frees those of all threads.
_RUBY = """
threads = (0...16).map do |number|
  Thread.new do
    random, held = Random.new(number), {}
    150_000.times do |i|
      held[random.rand(3000)] = "x" * (40 + random.rand(1500))
      held.delete(random.rand(3000)) if i % 3 == 0
    end
    held.size
  end
end
puts threads.map(&:value).sum
"""

_PYTHON = """
import json, random, threading

def work(number):
    chosen, held = random.Random(number), {}
    for i in range(15_000):
        words = ["x" * chosen.randrange(400) for _ in range(5)]
        held[chosen.randrange(2000)] = json.loads(json.dumps({"words": words, "number": i}))
        if i % 3 == 0:
            held.pop(chosen.randrange(2000), None)

threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""

# Writes, reads and both at once, with a block cache that evicts and memtables that come and go.
_ROCKSDB = (
    "--benchmarks=fillrandom,readrandom,overwrite,readwhilewriting --num=20000 --reads=20000 --threads=16 "
    "--value_size=400 --compression_type=none --write_buffer_size=8388608 --cache_size=33554432 "
    "--disable_wal=1 --seed=1 --use_existing_db=0"
)

# Answers of some 100 KB are put together from buffers and compressed by the threads of its pool.
_NODE = """
const zlib = require("zlib"), held = [];
const server = require("http").createServer((request, response) => {
  const number = Number(request.url.slice(1));
  if (number < 0) { response.end("ended"); server.close(); server.closeAllConnections?.(); return; }
  const parts = [];
  for (let i = 0; i < 40; ++i)
    parts.push(Buffer.alloc(500 + (number * 7919 + i * 104729) % 8000, 65 + i % 26));
  const whole = Buffer.concat(parts);
  held[number % 200] = whole;
  response.setHeader("connection", "close");
  zlib.deflate(whole, (error, packed) => response.end(packed));
});
server.listen(Number(process.argv[2]), "127.0.0.1");
"""

# Deflaters and their buffers are native; each thread makes new ones for each text.
_JAVA = """
import java.util.Random;
import java.util.zip.*;
public class Packs {
  public static void main(String[] words) throws Exception {
    Thread[] threads = new Thread[8];
    for (int number = 0; number < threads.length; ++number) {
      final int seed = number;
      threads[number] = new Thread(() -> pack(new Random(seed)));
      threads[number].start();
    }
    for (Thread thread : threads) thread.join();
  }
  static void pack(Random random) {
    byte[] text = new byte[20000], packed = new byte[40000], again = new byte[20000];
    Deflater[] held = new Deflater[6];
    try {
      for (int i = 0; i < 600; ++i) {
        for (int at = 0; at < text.length; ++at) text[at] = (byte) ('a' + random.nextInt(4));
        Deflater deflater = new Deflater(1 + random.nextInt(9));
        deflater.setInput(text, 0, 1000 + random.nextInt(19000));
        deflater.finish();
        int size = deflater.deflate(packed);
        Inflater inflater = new Inflater();
        inflater.setInput(packed, 0, size);
        inflater.inflate(again);
        inflater.end();
        int place = random.nextInt(held.length);
        if (held[place] != null) held[place].end();
        held[place] = deflater;
      }
    } catch (DataFormatException error) { throw new RuntimeException(error); }
    for (Deflater deflater : held) if (deflater != null) deflater.end();
  }
}
"""
_PAGES = 1200
_CLIENTS = 4

_MARIADB_TABLES = (
    "create table t (id int primary key auto_increment, name varchar(200), body text, key (name));"
    "insert into t (name, body) select concat('name ', seq), repeat(md5(seq), 20) from seq_1_to_4000;"
)
_MARIADB_QUERIES = (
    "select name, length(body) from t where name like 'name 1%' order by body limit 200;"
    "select group_concat(body order by name separator '-') from t where id % 37 = 5;"
    "update t set body = repeat(md5(rand()), 30) where id = floor(1 + rand() * 4000);"
    "select count(*) from t a join t b on a.name = reverse(b.name)"
)


def servers(folder: Path) -> dict[str, Program]:
    """By name, also those that are not installed; folder: for what they read and write."""
    (folder / "packs").mkdir()
    return {
        "rocksdb, 16 threads": Program(["db_bench", f"--db={folder}/db", *_ROCKSDB.split()]),
        "mariadb, client churn": _mariadb(folder),
        "node, buffers and zlib": _node(folder),
        "java, Deflaters": _java(folder / "packs"),
        "ruby, 16 threads": Program(["ruby", "-e", _RUBY]),
        "python3, 16 threads": Program(["/usr/bin/python3", "-c", _PYTHON], {"PYTHONMALLOC": "malloc"}),
    }


def _java(folder: Path) -> Program:
    """Compiled where there is a compiler; Java's own heap is as small as the load allows."""
    (folder / "Packs.java").write_text(_JAVA)
    if shutil.which("javac"):
        subprocess.run(["javac", "-d", str(folder), str(folder / "Packs.java")], check=True)
    return Program(["java", "-Xmx64m", "-Xms64m", "-XX:+UseSerialGC", "-cp", str(folder), "Packs"])


def _node(folder: Path) -> Program:
    """Clients fetch pages over connections of their own."""
    port = loads.free_port()
    script = folder / "pages.js"
    script.write_text(_NODE)

    def fetch(number: int) -> None:
        connection = HTTPConnection("127.0.0.1", port)
        connection.request("GET", f"/{number}")
        connection.getresponse().read()
        connection.close()

    def work() -> None:
        loads.wait_for(port)
        with ThreadPoolExecutor(_CLIENTS) as clients:
            list(clients.map(fetch, range(_PAGES)))
        fetch(-1)

    return Program(["node", "--max-semi-space-size=2", str(script), str(port)], {}, work)


def _mariadb(folder: Path) -> Program:
    """Clients that connect anew after each few queries: a thread each, as many servers see them."""
    home, socket = folder / "mariadb", str(folder / "mariadb.sock")
    user = ["--user=root"] if os.geteuid() == 0 else []
    install = ["mariadb-install-db", "--no-defaults", *user, f"--datadir={home}", "--skip-test-db"]
    if shutil.which(install[0]):
        subprocess.run(install, check=True, capture_output=True)

    def call(tool: str, *words: str) -> None:
        line = [tool, "--no-defaults", f"--socket={socket}", "--user=root", *words]
        subprocess.run(line, check=True, capture_output=True)

    settings = [
        "--innodb-buffer-pool-size=16M",
        "--innodb-flush-log-at-trx-commit=0",
        "--thread-cache-size=2",
    ]
    settings += ["--skip-networking", "--skip-grant-tables", "--table-open-cache=64", f"--socket={socket}"]
    command = ["mariadbd", "--no-defaults", *user, f"--datadir={home}", *settings]
    return Program(command, {}, _churn(Path(socket), call))


def _churn(socket: Path, call: Callable[..., None]) -> Callable[[], None]:
    slap = ["--concurrency=12", "--iterations=3", "--number-of-queries=360", "--detach=4", "--delimiter=;"]
    slap += [f"--create={_MARIADB_TABLES}", f"--query={_MARIADB_QUERIES}", "--silent"]

    def work() -> None:
        deadline = time.monotonic() + 20
        while not socket.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        try:
            call("mariadb-slap", *slap)
        finally:
            call("mariadb-admin", "shutdown")

    return work
