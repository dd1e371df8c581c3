# SPDX-License-Identifier: MIT
"""HEAPWRIGHT_HEAP_... in the environment: bad ones get one line each, and the default is used."""

import os
import subprocess
from collections.abc import Mapping

import pytest
from conftest import build

library = build / "lib/libheapwright.so"


def errors_of(settings: Mapping[str, str]) -> list[str]:
    environment = {**os.environ, **settings, "LD_PRELOAD": str(library)}
    done = subprocess.run(
        ["/bin/ls", "/"], env=environment, capture_output=True, text=True, check=False, timeout=20
    )
    assert done.returncode == 0
    assert "usr" in done.stdout
    return done.stderr.splitlines()


def test_good_settings_say_nothing() -> None:
    for name, values in {
        "MAINTENANCE": ("thread", "manual"),
        "DECAY_MS": ("0", "600000"),
        "HARDENED": ("0", "1"),
        "COUNTERS": ("0", "1"),
    }.items():
        for value in values:
            assert errors_of({f"HEAPWRIGHT_HEAP_{name}": value}) == []


@pytest.mark.parametrize("value", ["", " ", "2", "yes", "-1", "01", "1 ", "1e3", "9" * 400])
@pytest.mark.parametrize("name", ["HARDENED", "COUNTERS", "MAINTENANCE"])
def test_a_bad_value_is_named(name: str, value: str) -> None:
    (line,) = errors_of({f"HEAPWRIGHT_HEAP_{name}": value})
    assert line.startswith(f"heapwright: HEAPWRIGHT_HEAP_{name}={value}"[:240])
    assert len(line) < 300


@pytest.mark.parametrize("value", ["", "-1", "600001", "1.5", "1s", "18446744073709551617", " 5"])
def test_a_bad_time_is_named(value: str) -> None:
    (line,) = errors_of({"HEAPWRIGHT_HEAP_DECAY_MS": value})
    assert line == f"heapwright: HEAPWRIGHT_HEAP_DECAY_MS={value} is not 0 to 600000; the default is used"


def test_an_unknown_setting_is_named() -> None:
    (line,) = errors_of({"HEAPWRIGHT_HEAP_HARDEND": "1"})
    assert "HEAPWRIGHT_HEAP_HARDEND" in line
    assert "HARDENED" in line


def test_each_bad_setting_gets_its_line() -> None:
    bad = {"HEAPWRIGHT_HEAP_HARDENED": "x", "HEAPWRIGHT_HEAP_X": "1", "HEAPWRIGHT_HEAP_DECAY_MS": "never"}
    assert len(errors_of(bad)) == 3
