# SPDX-License-Identifier: MIT
"""pytest --heapwright, with a native extension that is compiled here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from conftest import collector
from heapwright import pytest_plugin

pytestmark = pytest.mark.full

pytest.importorskip("duckdb")

INCLUDE = sysconfig.get_paths()["include"]

EXTENSION = """
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdlib.h>
#include <time.h>
static PyObject* serve(PyObject* self, PyObject* number) {
  for (long left = PyLong_AsLong(number); left > 0; --left) {
    void* volatile block = malloc(10);
    free(block);
  }
  Py_RETURN_NONE;
}
static PyObject* hold(PyObject* self, PyObject* number) {
  void* blocks[64];
  long count = PyLong_AsLong(number);
  for (long i = 0; i < count; ++i) blocks[i] = malloc(10);
  for (long i = 0; i < count; ++i) free(blocks[i]);
  Py_RETURN_NONE;
}
static void* volatile kept;
static PyObject* keep(PyObject* self, PyObject* number) {
  for (long left = PyLong_AsLong(number); left > 0; --left) kept = malloc(10);
  Py_RETURN_NONE;
}
static void pause_ms(long ms) {
  struct timespec time = {0, 1000000 * ms};
  nanosleep(&time, NULL);
}
static PyObject* grow(PyObject* self, PyObject* number) {
  for (long left = PyLong_AsLong(number); left > 0; --left, pause_ms(2)) kept = malloc(100);
  Py_RETURN_NONE;
}
static PyObject* stay(PyObject* self, PyObject* number) {
  for (long left = PyLong_AsLong(number); left > 0; --left, pause_ms(2)) {
    void* volatile block = malloc(100);
    free(block);
  }
  Py_RETURN_NONE;
}
static PyMethodDef methods[] = {{"serve", serve, METH_O, ""}, {"hold", hold, METH_O, ""}, {"keep", keep, METH_O, ""},
                                {"grow", grow, METH_O, ""}, {"stay", stay, METH_O, ""}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_shop", 0, -1, methods};
PyMODINIT_FUNC PyInit__shop(void) { return PyModule_Create(&module); }
"""

TESTS = """
import _shop, pytest

@pytest.mark.heap(calls=3, bytes=30)
def test_within(): _shop.serve(3)

@pytest.mark.heap(calls=0)
def test_of_python_alone(): [object() for _ in range(10_000)]

@pytest.fixture
def served(): _shop.serve(1000)

@pytest.mark.heap(bytes=20)
@pytest.mark.parametrize("number", [2, BEYOND])
def test_with_a_fixture(served, number): _shop.serve(number)

def test_without_limits(): _shop.serve(50)
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not Path(INCLUDE, "Python.h").exists():
        pytest.skip("Python.h is not installed")
    folder = tmp_path_factory.mktemp("shop")
    (folder / "shop.c").write_text(EXTENSION)
    line = ["cc", "-O1", "-g", "-shared", "-fPIC", f"-I{INCLUDE}", "-o", "_shop.so", "shop.c"]
    subprocess.run(line, cwd=folder, check=True)
    (folder / "pytest.ini").write_text("[pytest]\nheapwright_only = _shop.so\n")
    return folder


def run(folder: Path, tests: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_shop.py").write_text(tests)
    line = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_shop.py", *options]
    environment = {**os.environ, "HEAPWRIGHT_BIN": str(collector.parent), "COLUMNS": "120"}
    return subprocess.run(
        line, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


def test_limits_of_each_test_are_held(shop: Path) -> None:
    done = run(shop, TESTS.replace("BEYOND", "1"), "--heapwright")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout
    assert "Within budget: 5 limits" in done.stdout


def test_what_is_above_fails_and_is_named(shop: Path, tmp_path: Path) -> None:
    done = run(
        shop, TESTS.replace("BEYOND", "3"), "--heapwright", "--heapwright-keep", str(tmp_path / "kept")
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "5 passed" in done.stdout
    assert "Outside the budget: 1 of 5 limits broken." in done.stdout
    said = " ".join(done.stdout.split())
    assert "test_with_a_fixture[3]: bytes of one run 30 B, 10 B above the limit of 20 B" in said
    assert [path.suffix for path in (tmp_path / "kept").iterdir()] == [".heapwright"]


# Of each key of the marker: its limit in the file, a call that it holds, and the limit that the next call breaks.
KEYS = {
    "calls": ("calls_per_run", "serve(3)", 3, "serve(3)", 2),
    "bytes": ("bytes_per_run", "serve(3)", 30, "serve(3)", 29),
    "peak": ("peak_live_bytes", "hold(4)", 40, "hold(4)", 39),
    "kept": ("live_at_end_bytes", "keep(2)", 20, "keep(2)", 19),
    "kept_blocks": ("live_at_end_blocks", "keep(2)", 2, "keep(2)", 1),
    "growth": ("growth_bytes_per_s", "stay(600)", 0, "grow(600)", 1000),
    "p99_ns": ("p99_ns", "serve(3)", 10**12, "serve(3)", 0),
}


def test_each_key_of_the_marker_holds_and_breaks(shop: Path) -> None:
    test = "@pytest.mark.heap({key}={limit})\ndef test_{way}_{key}(): _shop.{call}\n\n"
    text = "import _shop, pytest\n\n"
    for key, (_, call, limit, other, less) in KEYS.items():
        text += test.format(key=key, way="within", call=call, limit=limit)
        text += test.format(key=key, way="over", call=other, limit=less)
    done = run(shop, text, "--heapwright")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Outside the budget: 7 of 14 limits broken." in done.stdout
    row = re.compile(r"^(ok|OVER) .* phase test_shop\.py::(test_\w+): (\w+)$", re.MULTILINE)
    verdicts = {
        test: (verdict, figure) for verdict, test, figure in row.findall(done.stdout.replace("  ", " "))
    }
    expected = {}
    for key, (figure, *_) in KEYS.items():
        expected |= {f"test_within_{key}": ("ok", figure), f"test_over_{key}": ("OVER", figure)}
    assert verdicts == expected


def test_no_key_is_forgotten() -> None:
    assert {key: figure for key, (figure, *_) in KEYS.items()} == pytest_plugin._KEYS


def test_calls_of_the_extension_alone_count(shop: Path) -> None:
    text = "import _shop, pytest\n@pytest.mark.heap(calls=2)\ndef test_one(): _shop.serve(3); [{} for _ in range(999)]\n"
    done = run(shop, text, "--heapwright")
    assert done.returncode == 1
    assert re.search(r"allocations of one run 3, 1 above the limit of 2", " ".join(done.stdout.split()))


def test_failed_tests_fail(shop: Path) -> None:
    text = "import _shop, pytest\n@pytest.mark.heap(calls=2)\ndef test_one(): _shop.serve(1); assert False\n"
    done = run(shop, text, "--heapwright")
    assert done.returncode == 1
    assert "Within budget" in done.stdout and "1 failed" in done.stdout


def test_without_the_option_nothing_is_recorded(shop: Path) -> None:
    done = run(shop, TESTS.replace("BEYOND", "3"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "budget" not in done.stdout


@pytest.mark.parametrize("marker", ["heap", "heap(3)", "heap(calls=-1)", "heap(call=1)", "heap(calls=True)"])
def test_a_marker_that_says_nothing_is_a_mistake(shop: Path, marker: str) -> None:
    done = run(shop, f"import pytest\n@pytest.mark.{marker}\ndef test_one(): pass\n")
    assert done.returncode == 4
    assert "takes calls=N, bytes=N, peak=N, kept=N, kept_blocks=N, growth=N" in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--heapwright-only", "_shp.so"], "no library _shp.so was loaded"),
        (["--heapwright-keep", "."], "exists and is not an empty folder"),
    ],
)
def test_mistakes_of_the_options(shop: Path, options: list[str], said: str) -> None:
    done = run(shop, TESTS.replace("BEYOND", "1"), "--heapwright", *options)
    assert done.returncode == 4
    assert said in done.stderr
