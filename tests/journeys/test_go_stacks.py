# SPDX-License-Identifier: MIT
"""Programs in Go: the stack of a call that C makes for them leads on through the goroutine."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import command

pytestmark = pytest.mark.full

# Two goroutines take turns on one thread, so that C finds the same stack of that thread below both. The third
# function is called back by C: from Go, from Go that was itself called back, and from a thread of C.
PROGRAM = """
package main

// #include <pthread.h>
// #include <stdlib.h>
// extern void goBack(int);
// extern void goTwice(int);
// static int call_back(int n) { goBack(n); return n + 1; }
// static int call_twice(int n) { goTwice(n); return n + 1; }
// static void* of_c(void* n) { for (int i = 0; i < 10; ++i) call_back(i); return n; }
// static void start_thread_of_c(void) { pthread_t one; pthread_create(&one, 0, of_c, 0); pthread_join(one, 0); }
// static void* library(size_t n) { return malloc(n); }
import "C"
import "runtime"

//go:noinline
func load(n int) { C.malloc(C.size_t(10000 + n)) }

//go:noinline
func parse(n int) { C.malloc(C.size_t(20000 + n)) }

//go:noinline
func index(n int) { C.library(C.size_t(30000 + n)) }

//export goBack
func goBack(n C.int) { C.malloc(40000) }

//export goTwice
func goTwice(n C.int) { C.call_back(n) }

type Server struct{ done chan bool }

func (s *Server) serve(work func(int)) {
	for i := 0; i < 100; i++ {
		work(i)
		runtime.Gosched()
	}
	s.done <- true
}

func main() {
	runtime.GOMAXPROCS(1)
	s := &Server{make(chan bool)}
	go s.serve(load)
	go s.serve(parse)
	go s.serve(index)
	for i := 0; i < 3; i++ {
		<-s.done
	}
	for i := 0; i < 50; i++ {
		C.call_back(C.int(i))
	}
	for i := 0; i < 20; i++ {
		C.call_twice(C.int(i))
	}
	C.start_thread_of_c()
	println("done")
}
"""
# By call site: calls and bytes.
WANTED = {
    "main.load": (100, 100 * 10_000 + 4_950),
    "main.parse": (100, 100 * 20_000 + 4_950),
    "library": (100, 100 * 30_000 + 4_950),
    "main.goBack": (80, 80 * 40_000),
}
# Of main.goBack: calls, by the functions that lead to it.
BACK = ("goBack", "call_back")
TWICE = (*BACK, "main.goTwice", "goTwice", "call_twice")
CALLED_BACK = {(*BACK, "main.main"): 50, (*TWICE, "main.main"): 20, (*BACK, "of_c"): 10}


def built(folder: Path, go: str, *options: str) -> Path:
    (folder / "main.go").write_text(PROGRAM)
    (folder / "go.mod").write_text("module served\n\ngo 1.18\n")
    environment = {
        "HOME": str(folder),
        **os.environ,
        "CGO_ENABLED": "1",
        "GOFLAGS": "",
        "GOTOOLCHAIN": "local",
    }
    done = subprocess.run(
        [go, "build", *options, "-o", "served", "."],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder / "served"


def answers(trace: Path, *questions: str) -> dict[str, Any]:
    line: list[str | Path] = [command, "explain", trace, "--json", "--unchecked", "--top", "1000"]
    line += ["--min-block", "9000", *(word for name in questions for word in ("--question", name))]
    said = subprocess.run(line, check=True, capture_output=True, timeout=120)
    found: dict[str, Any] = json.loads(said.stdout)
    return found


@pytest.mark.parametrize("go", sorted({"/usr/bin/go", shutil.which("go") or "/usr/bin/go"}))
@pytest.mark.parametrize("options", [(), ("-buildmode=pie",)], ids=["fixed", "pie"])
def test_blocks_of_c_belong_to_the_go_function(tmp_path: Path, go: str, options: tuple[str, ...]) -> None:
    if not Path(go).exists():
        pytest.skip("needs Go")
    program = built(tmp_path, go, *options)
    trace = tmp_path / "served.heapwright"
    done = subprocess.run(
        [command, "record", "--quiet", "--output", trace, "--", program], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "done\n")
    document = answers(trace, "volume", "peak")
    assert document["summary"]["completeness"]["is_complete"]
    rows = {row["function"]: row for row in document["questions"]["volume"]["sites"]}
    found = {name: (rows[name]["allocations"], rows[name]["bytes"]) for name in WANTED if name in rows}
    assert found == WANTED, rows.keys()
    held = {row["function"]: row for row in document["questions"]["peak"]["sites"]}
    path = held["main.parse"]["paths"][0]
    callers = [caller["function"] for caller in path["callers"]]
    assert callers[0] == "main.(*Server).serve"
    assert not path["is_cut"], callers
    found = {}
    for path in held["main.goBack"]["paths"]:
        names = [caller["function"] for caller in path["callers"]]
        assert not path["is_cut"], names
        last = names.index("main.main") + 1 if "main.main" in names else len(names)
        found[tuple(names[:last])] = path["weight"]
    assert found == {path: 40_000 * calls for path, calls in CALLED_BACK.items()}
    assert document["summary"]["completeness"]["cut_stacks"] == []
