# SPDX-License-Identifier: MIT
"""The document of a comparison, worked out by hand for two small recordings."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from heapwright.cli import run_command, schemas
from heapwright.compare import show
from written_traces import FREE, MALLOC, MadeTrace

SCHEMA = schemas.of("compare")


def made(
    rows: int, extra: int = 0, threads: int = 1, resident: int = 8_000_000, build: str = "aa"
) -> MadeTrace:
    """`rows` blocks of 100 bytes at 0x401000 and `extra` of 10 bytes at 0x402000; half of the rows stay."""
    trace = MadeTrace()
    trace.meta("program", "/opt/shop/server").meta("command", "/opt/shop/server").meta(
        "allocator", "glibc 2.36"
    )
    trace.line("module", 0x400000, 0x500000, 0x400000, "/opt/shop/server", build)
    for thread in range(threads):
        trace.line("thread", thread, 100 + thread, "main", 0, 0)
    for pc in (0x401000, 0x402000, 0x403000):
        trace.line("frame", pc, 0)
    for parent, frame in ((0, 2), (1, 0), (1, 1)):  # 2: the rows' stack, 3: the others'
        trace.line("stack", parent, frame)
    for number in range(rows):
        trace.event(MALLOC, 0x10000 + 4096 * number, 100, stack=2)
    for number in range(extra):
        trace.event(MALLOC, 0x9000000 + 64 * number, 10, stack=3)
    for number in range(0, rows, 2):
        trace.event(FREE, 0x10000 + 4096 * number)
    trace.line("memory", 2000, resident)
    return trace


def document(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    assert run_command(["compare", *map(str, words), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, SCHEMA)
    return found


def totals(found: dict[str, Any]) -> dict[str, tuple[float, float, str]]:
    return {row["key"]: (row["a"], row["b"], row["verdict"]) for row in found["totals"]}


def test_figures_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = made(20).write(tmp_path / "a.heapwright")
    b = made(10, extra=4, resident=9_000_000).write(tmp_path / "b.heapwright")
    found = document(capsys, a, b)
    assert totals(found) == {
        "calls": (20, 14, "less"),
        "bytes": (2000, 1040, "less"),
        "peak_live_bytes": (2000, 1040, "less"),
        "live_at_end_bytes": (1000, 540, "less"),
        "live_at_end_blocks": (10, 9, "less"),
        "resident_peak_bytes": (8_000_000, 9_000_000, "unknown"),
        "resident_end_bytes": (8_000_000, 9_000_000, "unknown"),
        "time_ns": (480, 304, "unknown"),  # 16 ns each
    }
    rows = {site["function"]: site for site in found["sites"]}
    assert (rows["server+0x1000"]["state"], rows["server+0x2000"]["state"]) == ("both", "added")
    assert rows["server+0x1000"]["figures"]["calls"] == {
        "a": 20, "b": 10, "difference": -10, "relative_difference": -0.5, "band": 0, "verdict": "less"
    }  # fmt: skip
    assert rows["server+0x1000"]["figures"]["live_at_end_bytes"]["difference"] == -500
    assert rows["server+0x2000"]["figures"]["bytes"]["difference"] == 40
    assert found["sites"][0]["function"] == "server+0x1000"


def test_the_answer_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = made(20).write(tmp_path / "a.heapwright")
    b = made(10, extra=4, resident=9_000_000).write(tmp_path / "b.heapwright")
    assert show.verdict(document(capsys, a, b)) == [
        "B makes 6 fewer allocations (−30 %); −10 at server+0x1000, partly offset elsewhere.",
        "B requests 960 B less (−48 %); −1000 B at server+0x1000, partly offset elsewhere.",
        "B holds 960 B less at the peak (−48 %); −1000 B at server+0x1000, partly offset elsewhere.",
        "B leaves 460 B less at the end (−46 %); −500 B at server+0x1000, partly offset elsewhere.",
        "Not certain: peak resident +977 KiB, resident at the end +977 KiB, "
        "time in the heap −176 ns; the variation between runs is not known: give at least 3 recordings per side, or use --run.",
    ]
    assert show.verdict(document(capsys, a, made(24).write(tmp_path / "c.heapwright")))[0] == (
        "B makes 4 more allocations (+20 %); 100 % of them at server+0x1000."
    )
    assert show.verdict(document(capsys, a, a)) == [
        "No difference in allocations, bytes requested, live at the peak, live at the end, blocks at the end, "
        "peak resident, resident at the end and time in the heap."
    ]


def test_repeats_give_a_band(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for side, least in (("a", 8_000_000), ("b", 9_000_000)):
        (tmp_path / side).mkdir()
        for number in range(3):
            made(20, resident=least + 1000 * number).write(tmp_path / side / f"{number}.heapwright")
    found = document(capsys, tmp_path / "a", tmp_path / "b")
    row = next(row for row in found["totals"] if row["key"] == "resident_peak_bytes")
    assert (row["a"], row["b"], row["band"], row["verdict"]) == (8_001_000, 9_001_000, 2000, "more")
    assert row["values_a"] == [8_000_000, 8_001_000, 8_002_000]
    assert found["false_alarms_at_most"] == 0.1
    words = [f"--{side}={tmp_path / side / f'{number}.heapwright'}" for side in "ab" for number in range(3)]
    assert document(capsys, *words)["totals"] == found["totals"]


def test_with_several_threads_what_is_live_is_not_exact(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = made(20, threads=2).write(tmp_path / "a.heapwright")
    b = made(24, threads=2).write(tmp_path / "b.heapwright")
    found = totals(document(capsys, a, b))
    assert (found["calls"][2], found["peak_live_bytes"][2]) == ("more", "unknown")


def test_samples_are_never_exact(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [
        made(rows).meta("sample_mean_bytes", 64).write(tmp_path / f"{rows}.heapwright") for rows in (20, 24)
    ]
    found = document(capsys, *files, "--anyway")
    assert {row["verdict"] for row in found["totals"] if row["difference"]} == {"unknown"}
    assert not any(row["is_exact"] for row in found["totals"])
    assert all(figure["verdict"] != "more" for site in found["sites"] for figure in site["figures"].values())


@pytest.mark.parametrize(
    ("per", "calls", "verdict"),
    [
        (["--per", "10,12"], (2, 2), "same"),
        (["--per", "4"], (5, 6), "more"),
        (["--per", "site:server+0x1000"], (1, 1), "same"),
        (["--per-second"], (2000, 2400), "unknown"),  # of 10 ms, and how steady these are nobody knows
    ],
)
def test_work_by_load(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    per: list[str],
    calls: tuple[float, float],
    verdict: str,
) -> None:
    a = made(20).write(tmp_path / "a.heapwright")
    b = made(24).write(tmp_path / "b.heapwright")
    found = totals(document(capsys, a, b, *per))
    assert found["calls"] == (*calls, verdict)
    assert found["peak_live_bytes"] == (2000, 2400, "more")  # no work


def test_a_rebuilt_program_without_symbols_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = made(20, extra=2).write(tmp_path / "a.heapwright")
    b = made(20, build="bb").write(tmp_path / "b.heapwright")
    found = document(capsys, a, b)
    assert [(site["function"], site["lines"]) for site in found["sites"]] == [("(no symbols)", [])]
    assert "the program was rebuilt: its call sites are matched by function" in found["notes"]
    assert any("give that build's folder with --a-root" in note for note in found["notes"])


def test_markdown_is_no_markup_of_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = made(20).write(tmp_path / "a.heapwright")
    b = made(24).write(tmp_path / "b.heapwright")
    assert run_command(["compare", str(a), str(b), "--md"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("### Heap: B compared to A\n\n- B makes 4 more allocations (+20 %)")
    assert "| call site | calls | bytes | at peak | at end |\n" in said
    assert "| server+0x1000 | +4 | +400 B | +400 B | +200 B |\n" in said


def test_a_page_for_a_browser(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = made(20).write(tmp_path / "<a>.heapwright")
    b = made(24).write(tmp_path / "b.heapwright")
    file = tmp_path / "page.html"
    assert run_command(["compare", str(a), str(b), "--html", str(file)]) == 0
    text = file.read_text(encoding="utf-8")
    assert "<h1>B makes 4 more allocations (+20 %); 100 % of them at server+0x1000.</h1>" in text
    assert '<td class="text">server+0x1000</td><td class="num more">+4</td>' in text
    assert "&lt;a&gt;.heapwright" in text
    assert "<script" not in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    capsys.readouterr()
    assert run_command(["compare", str(a), str(b), "--html", str(file)]) == 2
    assert "page.html exists; use --force" in capsys.readouterr().err
    assert run_command(["compare", str(a), str(b), "--html", "-"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("<!doctype html>")
    assert out.rstrip().endswith("</html>")  # and no tables after it


@pytest.mark.parametrize(
    ("change", "words"), [(-0.38, ", but the calls differ: there are 38.0 % fewer"), (0.01, ""), (None, "")]
)
def test_a_percentile_of_other_calls_says_so(change: float | None, words: str) -> None:
    def row(key: str, verdict: str, difference: float | None) -> dict[str, Any]:
        return {
            "key": key,
            "verdict": verdict,
            "unit": "ns",
            "difference": 3000.0,
            "relative_difference": difference,
        }

    totals = [row("calls", "same", change), row("p99_ns", "more", 11.2)]
    lines = show.verdict({"per": "", "totals": totals, "sites": []})
    assert lines == [f"B has a 99th percentile 3.00 µs longer (×12.2){words}."]


def test_another_program_was_not_rebuilt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = made(20).write(tmp_path / "a.heapwright")
    other = made(20, build="bb")
    other.lines = [line.replace("/opt/shop/server", "/opt/shop/worker") for line in other.lines]
    notes = document(capsys, a, other.write(tmp_path / "b.heapwright"))["notes"]
    assert "programs differ: A server, B worker" in notes
    assert "of two programs, call sites are matched by function" in notes
    assert not any("rebuilt" in note for note in notes)
