# SPDX-License-Identifier: MIT
"""Real programs of Debian, unchanged, under a preloaded allocator: CPU time and peak resident bytes."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from measured_run import Program, installed

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
from python_load import PYTHON_LOAD  # noqa: E402

LUA_LOAD = """
local live = {}
for i = 1, 1200000 do
  live[i % 50000] = {id = i, name = "name " .. i, list = {i, i + 1}}
end
local joined = {}
for i = 1, 49999 do joined[i] = live[i].name end
print(#table.concat(joined))
"""

# Words counted, cut and sorted.
PERL_LOAD = r"""
my (%count, @lines);
for my $i (1 .. 250_000) { push @lines, join " ", map { "word" . ($i * $_ * 7919 % 5003) } 1 .. 5 }
for (@lines) { $count{$_}++ for split / / }
s/word(\d)/$1-/g for @lines;
my @sorted = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
print scalar(@sorted), " ", length(join "", @lines), "\n";
"""

RUBY_LOAD = """
rows = Array.new(120_000) do |i|
  {"id" => i, "name" => "a name that is no inline one #{i}", "tags" => (1..i % 9).map(&:to_s)}
end
3.times { rows = rows.map { |row| row.merge("name" => row["name"].sub("one", "two") + "!") } }
groups = rows.group_by { |row| row["name"][-3, 2] }
puts groups.size, rows.map { |row| row["tags"].join(",") }.join.size
"""

PHP_LOAD = """<?php
$rows = [];
for ($i = 0; $i < 150000; $i++) $rows[] = ["id" => $i, "name" => "name $i", "tags" => range(0, $i % 9)];
for ($turn = 0; $turn < 3; $turn++) $rows = json_decode(json_encode($rows), true);
usort($rows, fn($a, $b) => strcmp($a["name"], $b["name"]));
echo count($rows), " ", strlen(serialize($rows)), "\\n";
"""


def z3_problem() -> str:
    """The factors of a product of two primes, as a bit-vector problem."""
    bits, product = 32, 48883 * 65521
    lines = ["(set-logic QF_BV)"]
    for name in ("x", "y"):
        lines += [f"(declare-const {name} (_ BitVec {bits}))"]
        lines += [f"(assert (bvult {name} (_ bv65536 {bits})))", f"(assert (bvugt {name} (_ bv1 {bits})))"]
    return "\n".join([*lines, f"(assert (= (bvmul x y) (_ bv{product} {bits})))", "(check-sat)", ""])


def programs(folder: Path) -> dict[str, Program]:
    """By name, those that are installed; folder: for what they read and write."""
    loads = {
        "load.py": PYTHON_LOAD,
        "load.lua": LUA_LOAD,
        "load.pl": PERL_LOAD,
        "load.rb": RUBY_LOAD,
        "load.php": PHP_LOAD,
        "load.smt2": z3_problem(),
        "load.sql": f".read {project / 'examples/orders.sql'}\n.open :memory:\n" * 4,
    }
    for name, text in loads.items():
        (folder / name).write_text(text)
    return installed(dict(_commands(folder)))


def _commands(folder: Path) -> Iterator[tuple[str, Program]]:
    def load(name: str) -> str:
        return str(folder / name)

    includes = [f"-I{project / 'src'}", f"-I{project / 'include'}"]
    compiled = [*includes, "-c", str(project / "src/analyze/analyze.cpp"), "-o", load("out.o")]
    yield "sqlite3", Program(["sqlite3", ":memory:", f".read {load('load.sql')}"])
    # The small-object allocators of Python and PHP would hide the heap. PHP opens its shared extensions
    # with RTLD_DEEPBIND, so they call the C library's free with blocks of a preloaded heap: hence -n.
    yield "python3", Program(["/usr/bin/python3", load("load.py")], {"PYTHONMALLOC": "malloc"})
    yield "php", Program(["php", "-n", "-d", "memory_limit=-1", load("load.php")], {"USE_ZEND_ALLOC": "0"})
    yield "perl", Program(["perl", load("load.pl")])
    yield "ruby", Program(["ruby", load("load.rb")])
    yield "lua", Program(["lua5.4", load("load.lua")])
    yield "z3", Program(["z3", load("load.smt2")])
    yield "g++", Program(["g++", "-std=c++20", "-O2", *compiled])
    yield "clang", Program(["clang++", "-std=c++20", "-O2", *compiled])
    yield "git gc", Program(["git", "-C", str(_repository(folder)), *_COLLECT])
    picture = ["-f", "lavfi", "-i", "testsrc2=size=640x360:rate=25", "-t", "5"]
    encoded = ["-c:v", "libx264", "-preset", "veryfast", "-f", "null", "-"]
    yield "ffmpeg, threads", Program(["ffmpeg", "-nostdin", "-loglevel", "error", *picture, *encoded])


# Each delta is searched anew, so that each run has the same to do.
_COLLECT = ["-c", "pack.threads=2", "repack", "-a", "-d", "-f", "-q", "--window=5"]


def _repository(folder: Path) -> Path:
    """A copy of this one, which runs may pack."""
    copy = folder / "repository"
    subprocess.run(["git", "clone", "-q", "--bare", "--no-local", str(project), str(copy)], check=True)
    return copy
