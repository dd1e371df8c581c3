# SPDX-License-Identifier: MIT
"""What is judged: programs of known cause, the rules' programs with the advice followed, Debian programs."""

from collections.abc import Mapping
from typing import NamedTuple

LIBRARIES = "/usr/lib/x86_64-linux-gnu"
JEMALLOC, TCMALLOC = f"{LIBRARIES}/libjemalloc.so.2", f"{LIBRARIES}/libtcmalloc_minimal.so.4"


class Case(NamedTuple):
    """program: of tests/programs, or a path. {project}: this project's folder. input: a shell's command that
    makes files in the folder where it runs.

    rule, fixed: of a remedy in code, the rule that names it, and the arguments with which it is followed.
    figure: a line of the program's output to take in place of the process's CPU time.
    """

    name: str
    program: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    input: str = ""
    rule: str = ""
    fixed: tuple[str, ...] = ()
    figure: str = ""


REFAULTS = """
wire = b'a' * (1 << 20)
for _ in range(2000):
    request = bytearray(wire)
    message = bytearray(request)
"""
PARSING = "import json; json.loads(json.dumps([{'a': i} for i in range(100000)]))"
LINES = """
import re
text = '\\n'.join(f'{n} name{n % 97} {n * 7}' for n in range(60000))
rows = [line.split() for line in text.split('\\n')]
print(len({row[1] for row in rows}), len(re.findall('name1', text)))
"""
PERL = 'my %h; for my $i (1..200000) { $h{$i % 5000} .= "x$i"; } print scalar(keys %h), "\\n";'
PERL_SORT = 'my @a = map { "k" . ($_ * 7919 % 100003) } 1..100000; print((sort @a)[0], "\\n");'
TCL = "set s {}; for {set i 0} {$i < 100000} {incr i} {lappend s [string repeat x [expr $i % 90]]}\n"
MAWK = "{s[$1 % 9973] = s[$1 % 9973] $1} END {for (i in s) n++; print n}"
BC = "echo 'scale=1500; 4*a(1)' > pi; echo quit >> pi"

_MADE = (
    Case("1 MiB buffers for each message", "refault_echo", ("2000",)),
    Case(
        "buffers, jemalloc gives back at once", "refault_decay", (),
        {"LD_PRELOAD": JEMALLOC, "MALLOC_CONF": "dirty_decay_ms:0"},
    ),
    Case("buffers, jemalloc as it is", "refault_decay", (), {"LD_PRELOAD": JEMALLOC}),
    Case("buffers, the C library's", "refault_decay"),
    Case("threads leave free memory in arenas", "keeps_memory", ("arenas",)),
    Case("large blocks raise the threshold", "keeps_memory", ("threshold",)),
    Case("survivors on each page", "keeps_memory", ("pinned",), {}, "", "private_heap", ("apart",)),
    Case("one site makes what stays and goes", "keeps_memory", ("mixed",)),
    Case("mallopt raises the trim threshold", "keeps_memory", ("option",), {}, "", "mallopt", ("no_option",)),
    Case("whole pages below survivors", "keeps_pages", ("untrimmed",)),
    Case(
        "the same, jemalloc never decays", "keeps_pages", ("untrimmed",),
        {"LD_PRELOAD": JEMALLOC, "MALLOC_CONF": "dirty_decay_ms:-1"},
    ),
    Case("the same, tcmalloc", "keeps_pages", ("untrimmed",), {"LD_PRELOAD": TCMALLOC}),
    Case("a million blocks of 25 bytes", "keeps_pages", ("rounding",)),
    Case(
        "the trim threshold alone is set", "refault_echo", ("1000",), {"MALLOC_TRIM_THRESHOLD_": "67108864"}
    ),
    Case("the top pad alone is set", "refault_echo", ("1000",), {"MALLOC_TOP_PAD_": "1048576"}),
)  # fmt: skip

_FIGURES = {"deferred_free": "waited_ns"}
_RULES = (
    "arena", "arena_count", "buffer_cache", "built_again", "built_once", "copied", "deferred_free",
    "exact_growth", "exit_policy", "heap_steps", "make_shared", "node_pool", "object_pool", "private_heap",
    "refaults", "reserve", "reused_buffer", "setting", "small_deque", "small_vector", "untouched_tails",
)  # fmt: skip


def _of_rule(rule: str) -> Case:
    figure = _FIGURES.get(rule, "" if rule == "exit_policy" else "work_ns")
    environment = {"MALLOC_MMAP_THRESHOLD_": "65536"} if rule == "setting" else {}
    return Case(f"advice: {rule}", f"advice_{rule}", ("as_is",), environment, "", rule, ("fixed",), figure)


# Often reported of heaps; each mended as the reports did.
_REPORTED = (
    Case("aligned frames among small blocks", "reported", ("aligned",)),
    Case("a buffer grown page by page", "reported", ("steps",), {}, "", "reserve", ("steps", "mended")),
    Case("threads that served one burst", "reported", ("burst",)),
    Case(
        "sums by value", "reported", ("matrices",), {}, "", "built_again", ("matrices", "mended"), "work_ns"
    ),
    Case(
        "strings by value", "reported", ("strings",), {}, "", "built_again", ("strings", "mended"), "work_ns"
    ),
    Case(
        "a deque for each session", "reported", ("sessions",), {}, "", "small_deque", ("sessions", "mended")
    ),
    Case("a cache without a bound", "reported", ("cache",), {}, "", "growth", ("cache", "mended")),
    Case("malloc_trim after each batch", "reported", ("trims",), {}, "", "refaults", ("trims", "mended")),
    Case("a cleared table keeps its buckets", "reported", ("cleared",)),
    Case("a lock on the heap", "reported", ("locks",), {}, "", "reused_buffer", ("locks", "mended")),
    Case(
        "a string for each lookup", "reported", ("lookups",), {}, "", "reused_buffer", ("lookups", "mended")
    ),
    Case("exceptions as answers", "reported", ("throws",), {}, "", "built_again", ("throws", "mended")),
    Case("a set for each task", "reported", ("sets",), {}, "", "built_again", ("sets", "mended")),
    Case("a process that forks", "reported", ("copies",)),
    Case("large tables by calloc", "reported", ("tables",)),
    Case("frames of 40 MiB", "reported", ("frames",)),
    Case(
        "a std::function for each request", "reported", ("posts",), {}, "", "built_again", ("posts", "mended")
    ),
    Case(
        "a table copied for each change",
        "reported",
        ("snapshots",),
        {},
        "",
        "copied",
        ("snapshots", "mended"),
    ),
)

_DEBIAN = (
    Case("python3, buffers", "/usr/bin/python3", ("-c", REFAULTS), {"PYTHONMALLOC": "malloc"}),
    Case("python3 parses JSON", "/usr/bin/python3", ("-c", PARSING)),
    Case("python3, lines and sets", "/usr/bin/python3", ("-c", LINES)),
    Case("sqlite3", "/usr/bin/sqlite3", (":memory:", ".read {project}/examples/orders.sql")),
    Case("jq", "/usr/bin/jq", ("-n", "[range(200000) | {a: .}] | length")),
    Case("jq, strings", "/usr/bin/jq", ("-n", "[range(100000) | tostring] | join(\",\") | length")),
    Case("perl, strings that grow", "/usr/bin/perl", ("-e", PERL)),
    Case("perl sorts", "/usr/bin/perl", ("-e", PERL_SORT)),
    Case("tclsh, a list", "/usr/bin/tclsh", ("t.tcl",), {}, f"cat > t.tcl <<'END'\n{TCL}END\n"),
    Case("bc, pi", "/usr/bin/bc", ("-lq", "pi"), {}, BC),
    Case("mawk, sums", "/usr/bin/mawk", (MAWK, "n"), {}, "seq 200000 > n"),
    Case("xz", "/usr/bin/xz", ("-kc", "n"), {}, "seq 100000 > n"),
    Case("zstd", "/usr/bin/zstd", ("-qkc", "n"), {}, "seq 300000 > n"),
    Case("openssl, a key", "/usr/bin/openssl", ("genrsa", "2048")),
    Case("bash, a string", "/usr/bin/bash", ("-c", "for i in {1..30000}; do s=$s.; a[$i]=$i; done")),
    Case("vim, substitutions", "/usr/bin/vim", ("-es", "-u", "NONE", "-c", "%s/1/one/g", "-c", "q!", "n"), {},
         "seq 30000 > n"),
)  # fmt: skip

CASES = (*_MADE, *map(_of_rule, _RULES), *_REPORTED, *_DEBIAN)
