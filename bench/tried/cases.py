# SPDX-License-Identifier: MIT
"""What is tried: programs that also have the change in their code, and Debian's programs and servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Case(NamedTuple):
    """line: of a shell; {programs}, {project}, {folder}, {port} are put in. by_hand: the changed program's.

    remedies: as try takes them; none: what explain ranks. load: of a server, with ready and metric as in try.
    input: makes files in the folder first.
    """

    name: str
    line: str
    remedies: tuple[str, ...] = ()
    by_hand: str = ""
    load: str = ""
    ready: str = ""
    metric: str = ""
    input: str = ""
    environment: Mapping[str, str] = {}


def _ours(name: str, as_is: str, changed: str = "", *remedies: str, **environment: str) -> Case:
    by_hand = f"{{programs}}/{changed}" if changed else ""
    return Case(name, f"{{programs}}/{as_is}", remedies, by_hand, environment=environment)


_COMPILED = (
    "g++ -std=c++20 -O2 -g -I{project}/include -DMENDED=$n {project}/examples/journey/server.cpp -o mended-$n"
)
_OURS = (
    _ours(
        "a few stay among many that go",
        "changed_loads sessions heap 60",
        "changed_loads sessions segregate 60",
        "segregate@make_session",
    ),
    Case(
        "the journey's server",
        "{folder}/mended-2",
        ("segregate@read_session",),
        "{folder}/mended-3",
        input=f"for n in 2 3; do {_COMPILED}; done",
    ),
    _ours("survivors on each page", "keeps_memory pinned", "keeps_memory apart"),
    _ours("survivors, more of them", "advice_private_heap as_is", "advice_private_heap fixed"),
    _ours(
        "the same of one size, our heap",
        "keeps_memory alike",
        "keeps_memory alike_apart",
        "on:heapwright",
        "on:heapwright+segregate@survivor",
    ),
    _ours("small buffers, a few at once", "advice_buffer_cache as_is", "advice_buffer_cache fixed"),
    _ours("buffers of a message", "refault_echo 1000"),
    _ours(
        "buffers of varying size",
        "changed_loads queue heap 60",
        "changed_loads queue buffer_cache 60",
        "reuse@make_buffer",
    ),
    _ours("pages taken again", "advice_refaults as_is", "advice_refaults fixed"),
    _ours(
        "a setting that costs", "advice_setting as_is", "advice_setting fixed", MALLOC_MMAP_THRESHOLD_="65536"
    ),
    _ours("mallopt raises the trim threshold", "keeps_memory option", "keeps_memory no_option"),
    _ours("threads leave memory in arenas", "keeps_memory arenas"),
    _ours("a million small blocks", "keeps_pages rounding"),
)

_ECHO = """
wire = b'a' * (1 << 20)
for _ in range(1000):
    request = bytearray(wire)
    message = bytearray(request)
"""
_RUBY = """
kept = []
threads = 6.times.map do |n|
  Thread.new do
    15.times do |round|
      words = Array.new(20_000) { |i| 'x' * (20 + (i * 7919 + round) % 400) }
      kept << words.values_at(*(0...20_000).step(400))
    end
  end
end
threads.each(&:join)
puts kept.flatten.size
"""
_PHP = """<?php
$a = [];
for ($i = 0; $i < 400000; $i++) { $a[$i % 5000] = str_repeat('x', $i % 300); }
echo count($a);
"""
_NODE = """
const a = [];
for (let i = 0; i < 400; ++i) a[i % 40] = Buffer.alloc(300000 + i * 1000, 1);
console.log(a.length);
"""
_GAME = """
import array
world = [array.array('d', bytes(8 * 4000)) for _ in range(60)]
for frame in range(400):
    scratch = [array.array('d', one) for one in world]
    world = [scratch[(i + 1) % 60] for i in range(60)]
print(len(world))
"""
_SQLITE = """
import sqlite3
c = sqlite3.connect(':memory:')
c.execute('create table t(a, b)')
c.executemany('insert into t values (?, ?)', ((i, 'x' * (i % 90)) for i in range(200000)))
print(c.execute('select count(distinct b) from t').fetchone())
"""
_CODE = """
#include <iostream>
#include <map>
#include <regex>
std::map<int, std::regex> all;
int main() { std::cout << all.size(); }
"""
_NGINX = """
cat > nginx.conf <<'END'
daemon off; master_process off; pid {folder}/pid; error_log {folder}/log; events { }
http { access_log off; server { listen 127.0.0.1:{port}; root {folder}; } }
END
head -c 200000 /dev/zero > zeros
"""
_CURL = "for i in $(seq 20); do curl -s -o /dev/null 'http://127.0.0.1:{port}/zeros?[1-100]' || exit 1; done"
_NOBODY = "setpriv --reuid=65534 --regid=65534 --clear-groups"
_COMPILER = "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus"


def _file(name: str, text: str) -> str:
    return f"cat > {name} <<'END'\n{text}\nEND\n"


_DEBIAN = (
    Case("python3, buffers", f'/usr/bin/python3 -c "{_ECHO}"', environment={"PYTHONMALLOC": "malloc"}),
    Case("python3, a loop of frames", f'/usr/bin/python3 -c "{_GAME}"'),
    Case("python3 with an extension, sqlite", f'/usr/bin/python3 -c "{_SQLITE}"'),
    Case("ruby, threads", f'/usr/bin/ruby -e "{_RUBY}"'),
    Case("php, strings", "/usr/bin/php t.php", input=_file("t.php", _PHP)),
    Case("node, buffers", f'/usr/bin/node -e "{_NODE}"'),
    Case(
        "cc1plus",
        f"{_COMPILER} -quiet -O1 -fpreprocessed t.ii -o t.s",
        input=_file("t.cpp", _CODE) + "g++ -E t.cpp > t.ii",
    ),
    Case(
        "hunspell",
        "/usr/bin/hunspell -d en_US -l words",
        input="tr -cs A-Za-z '\\n' < /usr/share/common-licenses/GPL-3 > words",
    ),
    Case(
        "redis-server",
        "/usr/bin/redis-server --port {port} --save '' --daemonize no",
        load="redis-benchmark -p {port} -t set,get -n 60000 -r 50000 -d 300 -q",
        ready="redis-cli -p {port} ping",
        metric="tr '\\r' '\\n' | awk '/^GET.*requests/ {print $2, \"req/s\"}'",
    ),
    Case(
        "nginx",
        "/usr/sbin/nginx -p {folder} -c {folder}/nginx.conf",
        load=_CURL,
        ready="curl -s -o /dev/null http://127.0.0.1:{port}/zeros",
        input=_NGINX,
    ),
    Case(
        "postgres",
        f"{_NOBODY} /usr/local/bin/postgres -D {{folder}}/db -p {{port}} -k {{folder}}",
        load="pgbench -h {folder} -p {port} -U nobody -n -T 4 -c 4 -S postgres",
        ready="pgbench -h {folder} -p {port} -U nobody -i -q postgres",
        metric="awk '/^tps/ {print $3, \"tps\"}'",
        input=f"chmod 777 {{folder}}; {_NOBODY} /usr/local/bin/initdb -U nobody -D {{folder}}/db",
    ),
)

CASES = (*_OURS, *_DEBIAN)
