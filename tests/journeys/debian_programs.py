# SPDX-License-Identifier: MIT
"""Programs of Debian, unchanged, with a piece of work for each.

Small but real work whose output does not depend on the allocator, nor on being
recorded: it is compared with what the same command says alone.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import project

limit_s = 300  # only against hanging: a machine may be busy with much else


@dataclass(frozen=True)
class Program:
    """files: written into the folder the command runs in. lines: standard input."""

    name: str
    command: str
    files: Mapping[str, str] = field(default_factory=dict)


class Ended(NamedTuple):
    status: int
    output: str
    errors: str


python_text = """
import json, multiprocessing, re, sqlite3, threading, zlib
def square(n):
    return sum(i * i for i in range(n))
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(4) as pool:
        print(sum(pool.map(square, range(2000))))
    base = sqlite3.connect(":memory:")
    base.execute("create table t(a, b)")
    base.executemany("insert into t values (?, ?)", [(i, str(i) * 9) for i in range(5000)])
    print(base.execute("select count(*), sum(length(b)) from t").fetchone())
    print(len(zlib.compress(json.dumps(list(range(20000))).encode())))
    threads = [threading.Thread(target=square, args=(5000,)) for _ in range(16)]
    [t.start() for t in threads]; [t.join() for t in threads]
    print(len(re.findall("1+", "".join(map(str, range(30000))))))
"""
php_text = """<?php
$rows = [];
for ($i = 0; $i < 20000; $i++) $rows[] = ["id" => $i, "name" => str_repeat("x", $i % 50)];
echo md5(json_encode($rows)), "\\n", count(array_unique(array_column($rows, "name"))), "\\n";
$d = new DOMDocument(); $d->loadXML("<a>" . str_repeat("<b>1</b>", 1000) . "</a>");
echo $d->getElementsByTagName("b")->length, " ", mb_strlen(str_repeat("ä", 500)), "\\n";
$q = new PDO("sqlite::memory:"); $q->exec("create table t(a)");
for ($i = 0; $i < 500; $i++) $q->exec("insert into t values ($i)");
echo $q->query("select sum(a) from t")->fetchColumn(), "\\n";
"""
node_text = """
const {Worker, isMainThread, parentPort} = require('worker_threads');
if (isMainThread) {
  const rows = Array.from({length: 50000}, (_, i) => ({id: i, name: 'n' + i}));
  console.log(JSON.stringify(rows).length);
  console.log(require('zlib').gzipSync(Buffer.alloc(1 << 20, 'abc')).length > 0);
  let left = 3, sum = 0;
  for (let i = 0; i < 3; i++)
    new Worker(__filename).on('message', m => { sum += m; if (--left === 0) console.log(sum); });
} else {
  let s = 0; for (let i = 0; i < 1e5; i++) s += [i, String(i)].length; parentPort.postMessage(s);
}
"""
java_text = """
import java.util.*;
public class Work {
  public static void main(String[] a) throws Exception {
    Map<String, List<Integer>> m = new TreeMap<>();
    for (int i = 0; i < 200000; i++) m.computeIfAbsent("k" + i % 999, k -> new ArrayList<>()).add(i);
    List<Thread> ts = new ArrayList<>();
    for (int i = 0; i < 8; i++) { Thread t = new Thread(() -> new ArrayList<>(m.keySet())); t.start(); ts.add(t); }
    for (Thread t : ts) t.join();
    System.out.println(m.size() + " " + m.get("k7").size());
  }
}
"""
perl_text = """
my %h; $h{$_ % 977} .= "v$_ " for 1 .. 100000;
my @s = sort { length $h{$a} <=> length $h{$b} || $a <=> $b } keys %h;
my $t = join ",", @s; $t =~ s/(\\d)(\\d)/$2$1/g; print length($t), " $s[0]\\n";
if (my $p = fork) { waitpid $p, 0; print $? >> 8, "\\n" } else { my @x = map { [$_] } 1 .. 1000; exit 7 }
"""
ruby_text = """
h = Hash.new { |m, k| m[k] = [] }
100000.times { |i| h[i % 997] << "v#{i}" }
puts h.values.map(&:join).map(&:size).sum
puts 4.times.map { |i| Thread.new { (1..20000).map(&:to_s).join.size } }.map(&:value).sum
"""
lua_text = """
local t = {} for i = 1, 300000 do t[i % 5000] = {i, tostring(i)} end
local s = 0 for _, v in pairs(t) do s = s + v[1] + #v[2] end print(s)
"""
cpp_text = """
#include <iostream>
#include <map>
#include <regex>
#include <string>
int main() { std::map<std::string, int> m; for (int i = 0; i < 1000; ++i) ++m[std::to_string(i % 77)];
  std::cout << m.size() << std::regex_match("abc", std::regex("[a-c]+")) << "\\n"; }
"""
vim_commands = "call setline(1, map(range(1, 20000), 'string(v:val)'))\n%s/1/one/g\nsort\nw! out.txt\nqa!\n"
tcl_text = "for {set i 0} {$i < 100000} {incr i} {lappend l [string repeat x [expr {$i % 40}]]}\nputs [llength [lsort -unique $l]]\n"

programs = (
    Program(
        "awk",
        """seq 200000 | awk '{a[$1 % 1009] = a[$1 % 1009] $1} END {for (k in a) n += length(a[k]); print n}'""",
    ),
    Program(
        "bash",
        """i=0; s=; while ((i < 20000)); do a[i]="v$i"; s+=x; ((i++)); done; echo ${#a[@]} ${#s} "$(echo ${a[@]} | md5sum)" """,
    ),
    Program("bc", "echo '2 ^ 20000' | bc | md5sum"),
    Program(
        "cmake",
        "cmake -S . -B out -G Ninja >/dev/null && cmake --build out >/dev/null && ./out/work",
        {
            "CMakeLists.txt": "cmake_minimum_required(VERSION 3.20)\nproject(w CXX)\nadd_executable(work w.cpp)\n",
            "w.cpp": cpp_text,
        },
    ),
    Program("clang++", "clang++ -O1 w.cpp -o w && ./w", {"w.cpp": cpp_text}),
    Program("curl", f"curl -s file://{project}/ARCHITECTURE.md | md5sum"),
    Program("find", f"find {project}/src -name '*.cpp' -size +1k | sort | md5sum"),
    Program("g++", "g++ -O2 w.cpp -o w && ./w", {"w.cpp": cpp_text}),
    Program(
        "gdb",
        "gdb -q -batch -ex 'info functions main' -ex 'break main' -ex run -ex bt /bin/true 2>/dev/null | grep -c .",
    ),
    Program(
        "git",
        "git init -q . && git config user.email a@b && git config user.name n && seq 30000 > f && git add f"
        " && git commit -qm one && seq 2 30001 > f && git commit -qam two && git gc -q && git diff HEAD~ | md5sum"
        " && git fsck && git log -p | wc -l",
    ),
    Program("gzip", f"tar cf - -C {project} src | gzip -9n | gzip -d | md5sum"),
    Program("java", "java Work.java", {"Work.java": java_text}),
    Program(
        "jq", """seq 20000 | jq -s 'map({id: ., text: tostring}) | group_by(.id % 97) | map(length) | add'"""
    ),
    Program("lua5.4", "lua5.4 w.lua", {"w.lua": lua_text}),
    Program(
        "make",
        "make -j4 -s all",
        {"Makefile": "all: $(foreach n,$(shell seq 200),t$n)\n\t@echo made\nt%:\n\t@true\n"},
    ),
    Program("node", "node w.js", {"w.js": node_text}),
    Program("objdump", "objdump -d /bin/ls | md5sum"),
    Program(
        "openssl",
        "seq 99999 > f && openssl dgst -sha256 f && openssl genrsa -out k 2048 2>/dev/null"
        " && openssl dgst -sha256 -sign k -out s f && openssl rsa -in k -pubout -out p 2>/dev/null"
        " && openssl dgst -sha256 -verify p -signature s f",
    ),
    Program("perl", "perl w.pl", {"w.pl": perl_text}),
    Program("php", "php w.php", {"w.php": php_text}),
    Program("python3", "/usr/bin/python3 w.py", {"w.py": python_text}),
    Program("ruby", "ruby w.rb", {"w.rb": ruby_text}),
    Program("sort", "seq 300000 | sort -R --random-source=/bin/ls | sort -n --parallel=2 -S 20M | md5sum"),
    Program("sqlite3", f"sqlite3 :memory: '.read {project}/examples/orders.sql'"),
    Program("tar", f"tar cf t.tar -C {project} src docs && tar tf t.tar | sort | md5sum"),
    Program("tclsh", "tclsh w.tcl", {"w.tcl": tcl_text}),
    Program("vim", "vim -u NONE -es -S w.vim </dev/null; md5sum < out.txt", {"w.vim": vim_commands}),
    Program("xz", f"tar cf - -C {project} src | xz -T2 -3 | xz -d | md5sum"),
    Program("z3", "z3 w.smt2", {"w.smt2": "(declare-const x Int)(assert (> (* x x) 50))(check-sat)"}),
    Program("zstd", f"tar cf - -C {project} src docs | zstd -T2 -19 -q | zstd -dq | md5sum"),
)


def run(program: Program, folder: Path, line: Sequence[str], environment: Mapping[str, str]) -> Ended:
    """In a folder of its own, without input. line: what bash is started by."""
    folder.mkdir()
    for name, text in program.files.items():
        (folder / name).write_text(text)
    variables = {**os.environ, "LC_ALL": "C", "HOME": str(folder)}
    variables.pop("LD_PRELOAD", None)
    done = subprocess.run(
        [*line, "bash", "-c", program.command],
        cwd=folder,
        env={**variables, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=limit_s,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def run_alone(program: Program, folder: Path) -> Ended:
    """Skips the test where the program is missing or does not work by itself."""
    if not shutil.which(program.name):
        pytest.skip(f"{program.name} is not installed")
    ended = run(program, folder, (), {})
    if ended.status != 0:
        pytest.skip(f"{program.name} does not work here at all: {ended.errors.strip()[-100:]}")
    return ended
