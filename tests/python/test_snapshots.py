# SPDX-License-Identifier: MIT
"""What people see, whole, at several widths: text files in tests/python/snapshots/.

HEAPWRIGHT_RENEW=1 writes them anew; what changed is then a diff to review.
"""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest
from written_traces import FREE, MALLOC, REALLOC, Command, MadeTrace, small_trace

SNAPSHOTS = Path(__file__).parent / "snapshots"
LONG = "/opt/a-company/products/warehouse/lib/libwarehouse-inventory-of-everything-2024.so.17"
WIDE = "/opt/倉庫管理/lib倉庫管理システム在庫照会.so"
HUGE = 18446744073709551615


def trace_of_extremes() -> MadeTrace:
    """Long paths, wide characters, markup in names, the largest numbers."""
    made = MadeTrace()
    made.meta("program", LONG).meta("command", "/usr/bin/store [red]all[/red] :smile:")
    for number, path in enumerate((LONG, WIDE, "/opt/[bold]x[/bold]:warning:.so", "/lib/libc.so.6")):
        start = 0x400000 + 0x100000 * number
        made.line("module", start, start + 0x100000, start, path, "aabbcc")
    made.line("thread", 0, 100, "倉庫 :smile:", 0, 0).line("thread", 1, 101, "[red]worker", 500, 9000000)
    for number in range(4):
        made.line("frame", 0x401234 + 0x100000 * number, number)
    # 1: the long one; 2: called by it, the wide one; 3: markup called by that; 4: the same through libc
    for parent, frame in ((0, 0), (1, 1), (2, 2), (3, 3)):
        made.line("stack", parent, frame)
    made.event(MALLOC, 0x1000, 1 << 62, stack=4)
    made.event(FREE, 0x1000)
    made.event(MALLOC, 0x2000, 5_000_000_000, stack=2, took=9_000_000)
    made.event(MALLOC, 0x3000, 1, stack=1)
    made.event(FREE, 0x3000)
    made.event(MALLOC, 0x4000, 20, stack=3)
    made.event(REALLOC, 0x5000, 4000, old=0x4000, stack=4)
    made.event(FREE, 0x2000, thread=1)
    made.line("memory", 2000, 8_000_000)
    return made


@pytest.fixture(scope="module")
def extremes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trace_of_extremes().write(tmp_path_factory.mktemp("trace") / "store.heapwright")


def cells(line: str) -> int:
    return sum(
        2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in line
        if not unicodedata.combining(letter)
    )


def compare(name: str, text: str) -> None:
    path = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("HEAPWRIGHT_RENEW"):
        path.write_text(text, encoding="utf-8")
    wanted = path.read_text(encoding="utf-8") if path.exists() else ""
    assert text == wanted, f"HEAPWRIGHT_RENEW=1 renews {path}"


SQL = f"select {HUGE}::ubigint as largest, -1 as least, function, library, line from site order by 3"
CASES = {
    "explain": ["explain", "{trace}", "--all"],
    "screen": ["explain", "{trace}"],
    "depth-4": [
        "explain",
        "{trace}",
        "--site-depth",
        "4",
        "--question",
        "volume",
        "--question",
        "slow_calls",
    ],
    "info": ["info", "{trace}"],
    "sql": ["sql", "{trace}", SQL],
}


@pytest.mark.parametrize("columns", [60, 80, 200])
@pytest.mark.parametrize("name", CASES)
def test_at_a_width(command: Command, extremes: Path, name: str, columns: int) -> None:
    arguments = [part.format(trace=extremes) for part in CASES[name]]
    said = command(*arguments, environment=[("COLUMNS", str(columns))])
    assert said.code == 0, said.err
    compare(f"{name}-{columns}", said.out.replace(str(extremes.parent), "…"))
    too_long = [line for line in said.out.splitlines() if cells(line.rstrip()) > columns]
    assert too_long == []


@pytest.mark.parametrize("columns", [60, 200])
@pytest.mark.parametrize("form", ["compare", "gate"])
def test_two_recordings_and_a_budget_at_a_width(
    command: Command, extremes: Path, tmp_path: Path, form: str, columns: int
) -> None:
    """Their texts name files, whose length differs from run to run."""
    (tmp_path / "heap.toml").write_text("[program]\ncalls = 0\nbytes = 1\n[[site]]\nname = '*'\ncalls = 0\n")
    other = small_trace().write(tmp_path / "other.heapwright")
    arguments = ["compare", other, extremes] if form == "compare" else ["gate", "heap.toml", extremes]
    said = command(*arguments, environment=[("COLUMNS", str(columns))])
    assert said.code == (0 if form == "compare" else 1), said.err
    assert "倉庫" in said.out
    assert "bold]:warning:.so" in said.out
    assert [line for line in said.out.splitlines() if cells(line.rstrip()) > columns] == []


@pytest.mark.parametrize("name", ["explain", "screen", "info"])
def test_in_ascii(command: Command, extremes: Path, name: str) -> None:
    arguments = [part.format(trace=extremes) for part in CASES[name]]
    said = command(*arguments, environment=[("COLUMNS", "80"), ("PYTHONIOENCODING", "ascii")])
    assert said.code == 0, said.err
    compare(f"{name}-ascii", said.out)
    assert said.out.isascii()


ALIKE = "/opt/lib/libwarehouse-inventory-of-the-{}-halls-in-all-countries-2024.so"


def trace_of_alike_callers() -> MadeTrace:
    """Sites, and callers of one site, whose long names differ in the middle only."""
    made = MadeTrace()
    names = [ALIKE.format(word) for word in ("northern", "southern")]
    for number, path in enumerate(("/opt/app", *names, "/opt/bin/main")):
        start = 0x400000 + 0x100000 * number
        made.line("module", start, start + 0x100000, start, path, "aabbcc")
        made.line("frame", start + 0x1234, number)
    made.line("thread", 0, 100, "main", 0, 0)
    # 1 main, 2 north, 3 app, 4 south, 5 app
    for parent, frame in ((0, 3), (1, 1), (2, 0), (1, 2), (4, 0)):
        made.line("stack", parent, frame)
    for number, stack in enumerate((3, 5, 2, 4)):
        made.event(MALLOC, 0x1000 * (number + 1), 1000, stack=stack)
    return made


@pytest.mark.parametrize("columns", [60, 80])
def test_names_that_differ_in_the_middle_stay_apart(command: Command, tmp_path: Path, columns: int) -> None:
    trace = trace_of_alike_callers().write(tmp_path / "alike.heapwright")
    said = command("explain", trace, "--question", "peak", environment=[("COLUMNS", str(columns))])
    assert said.code == 0, said.err
    compare(f"alike-{columns}", said.out)
    rows = [line for line in said.out.splitlines() if "libwarehouse" in line]
    assert len(rows) >= 4
    for word in ("northern", "southern"):
        assert said.out.replace("\n", "").replace(" ", "").count(f"-{word}-halls") == 2


def test_in_a_pipe_lines_have_100_columns_and_wide_cuts_nothing(command: Command, extremes: Path) -> None:
    environment = [("COLUMNS", "")]
    narrow = command("explain", extremes, "--question", "peak", environment=environment)
    assert max(cells(line.rstrip()) for line in narrow.out.splitlines()) in range(80, 101)
    wide = command("explain", extremes, "--all", "--site-depth", "4", "--wide", environment=environment)
    assert "…" not in wide.out
    names = [Path(path).name for path in (LONG, WIDE, "[bold]x[/bold]:warning:.so")]
    assert any(all(name in line for name in names) for line in wide.out.splitlines())


def test_markup_and_pictures_in_names_stay_what_they_are(command: Command, extremes: Path) -> None:
    for line in (("explain", extremes, "--all"), ("info", extremes)):
        out = command(*line, "--wide").out
        assert "[red]worker" in out
        assert "倉庫 :smile:" in out
        assert "[bold]x[/bold]:warning:.so" in out
