# SPDX-License-Identifier: MIT
"""explain --json --brief: at most 8 KB of the same document, whatever the trace is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import heapwright
import jsonschema
import pytest
from heapwright.cli import run_command, schemas
from heapwright.explain.brief import cut, shortened
from heapwright.explain.telling_scan import most_free
from heapwright.model.facts import Residency
from test_explain import explained, made
from written_traces import DELETE, NEW, MadeTrace

SCHEMA = schemas.of("brief")


def check(brief: dict[str, Any]) -> None:
    text = json.dumps(brief)
    assert len(text) <= 8192
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(text))


def busy(name: str) -> MadeTrace:
    """Hundreds of sites that allocate, keep and free."""
    trace = MadeTrace(end="end 1 0 40000000")
    trace.meta("program", f"/opt/{name}").meta("command", f"/opt/{name}")
    for site in range(300):
        start = 0x400000 + site * 0x100000
        trace.line("module", start, start + 0x100000, start, f"/opt/{name}{site}.so", f"aa{site:04x}")
        trace.line("frame", start + 0x1000, site).line("stack", 0, site)
    for call in range(3000):
        address = 0x10_0000_0000 + call * 0x10000
        trace.event(NEW, address, 100 + call % 300, stack=1 + call % 300, took=160)
        if call % 2:
            trace.event(DELETE, address)
    return trace


def is_part_of(small: Any, large: Any) -> bool:
    """Objects have some fields, lists a beginning; texts may be cut, figures not."""
    if isinstance(small, dict):
        return all(name in large and is_part_of(value, large[name]) for name, value in small.items())
    if isinstance(small, list):
        return len(small) <= len(large) and all(map(is_part_of, small, large))
    if isinstance(small, str):
        head, sign, tail = small.partition("…")
        return small == large or bool(sign and large.startswith(head) and large.endswith(tail))
    return bool(small == large)


@pytest.mark.parametrize("name", ["server", "é" * 120, "\U0001f600" * 60, "x" * 200])
def test_it_is_a_part_of_the_whole_and_fits(tmp_path: Path, name: str) -> None:
    document = explained(made(tmp_path, busy(name)))
    brief = shortened(document)
    check(brief)
    assert is_part_of(brief["summary"], document["summary"])
    assert is_part_of(brief["questions"], document["questions"])
    assert brief["questions"]["calls"]["sites"][0] == {
        name: document["questions"]["calls"]["sites"][0][name]
        for name in ("name", "allocations", "share", "mean_lifetime_ns")
    } | {"name": brief["questions"]["calls"]["sites"][0]["name"]}


def test_whatever_there_is_room_for_is_there(trace: heapwright.Trace) -> None:
    document = explained(trace)
    brief = shortened(document)
    check(brief)
    for question, table in (("peak", "sites"), ("leaks", "sites"), ("calls", "sites"), ("cause", "kinds")):
        assert len(brief["questions"][question][table]) == len(document["questions"][question][table])
    assert brief["next"]


def test_texts_without_end_fit_as_well(trace: heapwright.Trace) -> None:
    document = explained(trace)
    endless = "\x01" * 100_000
    document["file"] = endless
    document["summary"] |= {"program": endless, "allocator": endless, "notes": [endless] * 100}
    finding = {"text": endless, "question": "peak", "parts": [], "is_nothing": False, "naming": ""}
    document["summary"]["findings"] = [finding] * 6
    for question in ("peak", "calls", "leaks"):
        document["questions"][question]["sites"] = [
            {**old, "name": endless} for old in document["questions"][question]["sites"]
        ]
    check(shortened(document))


@pytest.mark.parametrize(
    ("text", "most", "shown"), [("short", 5, "short"), ("parse_everything", 16, "parse_everything")]
)
def test_what_fits_stays(text: str, most: int, shown: str) -> None:
    assert cut(text, most) == shown


@pytest.mark.parametrize("text", ["a" * 50, "é" * 50, '"' * 50, "\U0001f600" * 50], ids="aéqs")
def test_what_does_not_loses_its_middle(text: str) -> None:
    shown = cut(text, 40)
    assert len(json.dumps(shown)) <= 42
    assert shown[0] == text[0] and shown[-1] == text[-1] and "…" in shown


def test_on_the_command_line(trace_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["explain", str(trace_file), "--json", "--brief"]) == 0
    check(json.loads(capsys.readouterr().out))
    assert run_command(["explain", str(trace_file), "--brief"]) == 2
    assert "--brief needs --json" in capsys.readouterr().err
    assert run_command(["explain", str(trace_file), "--json", "--brief", "--question", "peak"]) == 0
    assert set(json.loads(capsys.readouterr().out)["questions"]) == {"peak"}


def scan(free: int, is_last: bool = False) -> Residency:
    nothing = Residency(*([0] * len(Residency._fields)))
    return nothing._replace(free_page_bytes=free, is_last=is_last)


@pytest.mark.parametrize(
    ("free", "shown"), [([10, 95, 100], 1), ([10, 89, 100], 2), ([100, 95, 90], 0), ([100], 0)]
)
def test_an_end_that_frees_all_does_not_hide_what_was_kept_before(free: list[int], shown: int) -> None:
    moments = tuple(scan(number, index == len(free) - 1) for index, number in enumerate(free))
    assert most_free(moments, lambda _: False) == shown
