# SPDX-License-Identifier: MIT
"""The probes otel_memory:alloc and :free: in the file with their arguments, and heard by the kernel."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import duckdb
import heapwright
import pytest
from conftest import build, command
from counting import environment

RECORDER = build / "lib/libheapwright-record.so"
# Some thousand blocks of two sizes, of which those of the second go.
SCRIPT = "@kept = map { 'x' x 700 } 1 .. 20000; @gone = map { 'y' x 5000 } 1 .. 2000; undef @gone;"
MEAN_BYTES = 16384
NOTE = re.compile(r"Provider: (\w+)\s+Name: (\w+)\s+Location: 0x(\w+),.*\s+Arguments: (.*)")


def notes(path: Path) -> dict[str, tuple[int, list[str]]]:
    """Of each probe where it is, and its arguments."""
    said = subprocess.run(["readelf", "-nW", path], capture_output=True, text=True, check=True).stdout
    found = NOTE.findall(said)
    assert [provider for provider, *_ in found] == ["otel_memory"] * len(found)
    assert len({name for _, name, *_ in found}) == len(found), "one place for each"
    return {name: (int(at, 16), arguments.split()) for _, name, at, arguments in found}


def test_the_library_has_the_probes_also_when_it_is_stripped(tmp_path: Path) -> None:
    found = notes(RECORDER)
    assert {name: len(arguments) for name, (_, arguments) in found.items()} == {"alloc": 3, "free": 1}
    assert all(one.startswith("8@") for _, arguments in found.values() for one in arguments)
    stripped = tmp_path / "stripped.so"
    subprocess.run(["strip", "-o", stripped, RECORDER], check=True)
    assert notes(stripped) == found


def file_offset(path: Path, address: int) -> int:
    said = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout
    for line in said.splitlines():
        if line.split()[:1] == ["LOAD"]:
            offset, begin, _, size = (int(field, 16) for field in line.split()[1:5])
            if begin <= address < begin + size:
                return address - begin + offset
    raise AssertionError(f"{address:#x} is in no segment")


@pytest.fixture
def tracefs(tmp_path: Path) -> Iterator[Path]:
    """The kernel's tracing, mounted for this test alone."""
    folder = tmp_path / "tracing"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tracefs", "nodev", folder], capture_output=True, check=False)
    if mounted.returncode != 0 or not (folder / "uprobe_events").exists():
        pytest.skip("the kernel's probes cannot be had here: no root, or no tracefs")
    yield folder
    subprocess.run(["umount", folder], check=True)


def fetched(argument: str) -> str:
    """A register as the kernel's probes name it."""
    name = argument.removeprefix("8@%")
    return f"%{name[1:] if re.fullmatch('r[a-d]x|r[sd]i|rbp', name) else name}:u64"


def tell(tracefs: Path, line: str) -> None:
    """A line of uprobe_events, which takes whole lines at its end and cannot be sought in."""
    descriptor = os.open(tracefs / "uprobe_events", os.O_WRONLY | os.O_APPEND)
    os.write(descriptor, f"{line}\n".encode())
    os.close(descriptor)


@pytest.fixture
def group(tracefs: Path) -> Iterator[str]:
    name = f"heapwright_test_{os.getpid()}"
    for probe, (address, arguments) in notes(RECORDER).items():
        fields = " ".join(f"a{i}={fetched(one)}" for i, one in enumerate(arguments))
        tell(tracefs, f"p:{name}/{probe} {RECORDER.resolve()}:{file_offset(RECORDER, address):#x} {fields}")
    enable = tracefs / "events" / name / "enable"
    enable.write_text("1")
    yield name
    enable.write_text("0")
    for probe in notes(RECORDER):
        tell(tracefs, f"-:{name}/{probe}")


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="registers are named as on x86-64")
def test_the_kernel_hears_what_the_trace_has(tracefs: Path, group: str, tmp_path: Path) -> None:
    target = tmp_path / "sampled.heapwright"
    line = [command, "record", "--sample", str(MEAN_BYTES), "-o", target, "--", "/usr/bin/perl", "-e", SCRIPT]
    subprocess.run(line, check=True, capture_output=True, env=environment)
    heard: dict[str, list[list[int]]] = {"alloc": [], "free": []}
    for text in (tracefs / "trace").read_text().splitlines():
        event = re.search(r" perl-\d+ .* (alloc|free): \(0x\w+\)(.*)$", text)
        if event:
            heard[event[1]].append([int(number) for number in re.findall(r"a\d=(\d+)", event[2])])
    asked = duckdb.connect()
    asked.register("event", heapwright.open(target).table("event"))
    recorded = asked.execute("select address, size from event where address <> 0 and size <> 0").fetchall()
    assert sorted((address, size) for address, size, _ in heard["alloc"]) == sorted(recorded)
    ((released,),) = asked.execute(
        "select count(*) from event where kind like '%free%' or old_address <> 0"
    ).fetchall()
    assert len(heard["free"]) == released > 100
    assert {address for (address,) in heard["free"]} <= {address for address, *_ in heard["alloc"]}
    # Both are unbiased estimates of what was allocated.
    assert all(MEAN_BYTES <= weight <= MEAN_BYTES + size for _, size, weight in heard["alloc"])
    ((estimate,),) = asked.execute(
        "select sum(size * weight) from event where address <> 0 and size <> 0"
    ).fetchall()
    assert sum(weight for *_, weight in heard["alloc"]) == pytest.approx(float(estimate), rel=0.15)
