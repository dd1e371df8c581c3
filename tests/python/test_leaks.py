# SPDX-License-Identifier: MIT
"""What is called a leak, and what is known to stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import heapwright
import jsonschema
import pytest
from heapwright import explain
from heapwright.explain import leaks
from heapwright.model import Filter
from heapwright.model.suppressions import expression, parse
from test_explain import SCHEMA, printed
from written_traces import FREE, MALLOC, Command, MadeTrace

LEAK, WORK, POOL = 2, 3, 6  # stacks


def run(
    blocks: int = 64,
    tidy: int = 2000,
    messy: int = 0,
    step_ns: int = 10_000,
    begin: int = 1600,
    freed: int = 0,
    late: int = 16,
    size: int = 24,
) -> MadeTrace:
    """Many blocks of one site that stay, beside others that are freed (tidy) or stay as well (messy).

    So many of the first come late, after the others.
    """
    made = MadeTrace()
    made.line("module", 0x400000, 0x500000, 0x400000, "/opt/shop/server", "aabbcc")
    made.line("module", 0x600000, 0x700000, 0x600000, "/usr/lib/libstdc++.so.6", "bb")
    made.line("module", 0x700000, 0x800000, 0x700000, "/lib64/ld-linux-x86-64.so.2", "cc")
    made.line("thread", 0, 100, "main", 0, 0)
    for pc, module in ((0x401000, 0), (0x402000, 0), (0x403000, 0), (0x601000, 1), (0x701000, 2)):
        made.line("frame", pc, module)
    # 1 main, 2 main > leak, 3 main > work, 4 main > libstdc++, 5 ld.so, 6 ld.so > libstdc++, 7 main > ld.so
    for parent, frame in ((0, 0), (1, 1), (1, 2), (1, 3), (0, 4), (5, 3), (1, 4)):
        made.line("stack", parent, frame)
    made.event(MALLOC, 0x100, 72704, stack=POOL, at=800)
    for number in range(blocks - late):
        address = 0x1000000 + 0x10000 * number
        made.event(MALLOC, address, size, stack=LEAK, at=begin + number * step_ns)
        if number < freed:
            made.event(FREE, address)
    for number in range(tidy + messy):
        made.event(MALLOC, 0x100000 + 64 * number, 32, stack=WORK)
        if number < tidy:
            made.event(FREE, 0x100000 + 64 * number)
    for number in range(blocks - late, blocks):
        at = max(made._now_ns, begin + number * step_ns)
        made.event(MALLOC, 0x1000000 + 0x10000 * number, size, stack=LEAK, at=at)
    made.end = f"end 1 0 {made._now_ns + 1600}"
    return made


def explained(made: MadeTrace, tmp_path: Path, chosen: Filter | None = None, *known: str) -> dict[str, Any]:
    trace, chosen = heapwright.open(made.write(tmp_path / "server.heapwright")), chosen or Filter()
    report = explain.Report(trace, trace.facts(chosen), trace.sites(), chosen, 10, known)
    document = explain.explain(report)
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(document)))
    return document


def signs(document: dict[str, Any]) -> list[tuple[str, int, str]]:
    return [
        (sign["function"], sign["live_blocks"], sign["confidence"])
        for sign in document["questions"]["leaks"]["signs"]
    ]


def test_a_leak_is_told_on_the_first_screen(tmp_path: Path) -> None:
    document = explained(run(size=1024), tmp_path)
    assert signs(document) == [("server+0x2000", 64, "likely")]
    text = (
        "64 blocks (64.0 KiB) of server+0x2000 allocated throughout the run, none ever freed: a leak, unless "
        "in use to the end; --snapshot end tells who holds them"
    )
    assert document["summary"]["findings"][0]["text"] == text


@pytest.mark.parametrize(("size", "pool"), [(1016, 0), (1024, 7 << 20)], ids=["few bytes", "small share"])
def test_little_that_stays_is_in_the_table_alone(tmp_path: Path, size: int, pool: int) -> None:
    made = run(size=size)
    if pool:
        made.event(MALLOC, 0x80000000, pool, stack=WORK)
        made.end = f"end 1 0 {made._now_ns + 1600}"
    document = explained(made, tmp_path)
    assert signs(document) == [("server+0x2000", 64, "likely")]
    assert [one["text"] for one in document["summary"]["findings"] if "none ever freed" in one["text"]] == []


@pytest.mark.parametrize(
    "made",
    [
        run(blocks=40),
        run(freed=1),
        run(step_ns=100, begin=1600, late=0),  # all at the start of a run that goes on
        run(late=0),  # for more than half of it, and then no more
        run(messy=1000, step_ns=30_000_000),  # a program that does not clean up, in a short run
    ],
    ids=["few", "freed", "early", "ended", "untidy"],
)
def test_no_alarm(tmp_path: Path, made: MadeTrace) -> None:
    assert signs(explained(made, tmp_path)) == []


def test_growth_of_a_long_run_that_does_not_clean_up_may_be_a_cache(tmp_path: Path) -> None:
    document = explained(run(messy=1000, step_ns=200_000_000, size=1024), tmp_path)
    assert signs(document) == [("server+0x2000", 64, "possible")]
    assert "cannot tell a leak from a cache that only grows, or from what is built" in printed(document, 300)


def test_only_a_whole_recording_can_tell(tmp_path: Path) -> None:
    sampled = run().meta("sample_mean_bytes", 65536)
    killed, cut = run(), run()
    killed.end = killed.end.replace("end 1 0", "end 2 9")
    cut.has_end = False
    for made in (sampled, killed, cut):
        assert signs(explained(made, tmp_path)) == []
    assert signs(explained(run(), tmp_path, Filter(from_ns=1000))) == []
    assert signs(explained(run(), tmp_path, Filter(to_ns=500_000))) == []


def test_what_the_run_time_takes_at_its_start_is_known_to_stay(tmp_path: Path) -> None:
    document = explained(run(), tmp_path)
    leaks = document["questions"]["leaks"]
    assert (leaks["suppressed_bytes"], leaks["suppressed_blocks"]) == (72704, 1)
    assert [site["function"] for site in leaks["sites"]] == ["server+0x2000"]
    assert "suppressed: 71.0 KiB in 1 block" in printed(document)
    assert document["summary"]["live_at_end_blocks"] == 65, "they do live"


def test_what_the_program_causes_in_the_run_time_is_not_known_to_stay(tmp_path: Path) -> None:
    made = run()
    for stack in (4, 7):
        made.event(MALLOC, 0x80 + 16 * stack, 10, stack=stack)
    assert explained(made, tmp_path)["questions"]["leaks"]["suppressed_bytes"] == 72704


def test_suppressions_match_any_frame(tmp_path: Path) -> None:
    for known in ("server+0x1000", "/opt/*/server", "^server+0x2000$"):
        leaks = explained(run(), tmp_path, None, known)["questions"]["leaks"]
        assert (leaks["suppressed_blocks"], leaks["sites"], leaks["signs"]) == (65, [], [])
    assert explained(run(), tmp_path, None, "^erver")["questions"]["leaks"]["suppressed_blocks"] == 1


@pytest.mark.parametrize(
    ("pattern", "regex"),
    [("a.b", r"a\.b"), ("a*b", "a.*b"), ("^a$", "^a$"), ("*", ".*"), ("f(int)", r"f\(int\)")],
)
def test_lsan_patterns(pattern: str, regex: str) -> None:
    assert expression(pattern) == regex


def test_a_suppression_file() -> None:
    assert parse("# ours\n\nleak:libfoo.so\n  leak: Cache::fill \n") == ("libfoo.so", "Cache::fill")
    for wrong in ("libfoo.so", "race:x", "leak:", "leak"):
        with pytest.raises(ValueError, match="line 2 is"):
            parse(f"leak:a\n{wrong}\n")


def test_a_bad_suppression_file_is_one_line(tmp_path: Path, command: Command) -> None:
    trace = run().write(tmp_path / "server.heapwright")
    good, bad = tmp_path / "good.supp", tmp_path / "bad.supp"
    good.write_text("leak:server\n")
    bad.write_text("leak:a\nfoo\n")
    assert "suppressed: 72.5 KiB in 65 blocks" in command("explain", trace, "--suppressions", good).out
    for file, said in ((bad, "line 2 is 'foo', not leak:PATTERN"), (tmp_path / "none", "no such file")):
        answer = command("explain", trace, "--suppressions", file)
        assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
        assert said in answer.err


def leaking_service(
    leaks: int, tidy: int, made_each: int = 64, freed_each: int = 640, run_ns: int = 5_000_000_000
) -> MadeTrace:
    """Functions that leak all along a run, beside others that free what they make."""
    made = MadeTrace()
    made.line("module", 0x400000, 0x500000, 0x400000, "/opt/shop/server", "aabbcc")
    made.line("thread", 0, 100, "main", 0, 0)
    made.line("frame", 0x401000, 0).line("stack", 0, 0)
    for number in range(leaks + tidy):
        made.line("frame", 0x402000 + 0x1000 * number, 0).line("stack", 1, number + 1)
    step_ns = run_ns // made_each
    for turn in range(made_each):
        for number in range(leaks):
            address = 0x1000000 + 0x100000 * number + 0x1000 * turn
            made.event(MALLOC, address, 1024, stack=2 + number, at=max(made._now_ns, 1600 + turn * step_ns))
        for number in range(tidy):
            for _ in range(freed_each // made_each):
                made.event(MALLOC, 0x100000, 32, stack=2 + leaks + number)
                made.event(FREE, 0x100000)
    made.end = f"end 1 0 {made._now_ns + 1600}"
    return made


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (leaking_service(3, 1), "likely"),
        (leaking_service(5, 1), ""),  # a third of all blocks: it may build something
        (leaking_service(5, 2), "possible"),
        (leaking_service(5, 20, freed_each=192), "possible"),
        (leaking_service(5, 20, freed_each=0), ""),
        (leaking_service(5, 2, run_ns=500_000_000), "possible"),
        (leaking_service(5, 2, made_each=50), "possible"),
    ],
    ids=[
        "few",
        "builds",
        "many",
        "beside many",
        "nothing is freed",
        "as fast as the machine is",
        "with pauses",
    ],
)
def test_more_than_three_functions_may_leak(tmp_path: Path, made: MadeTrace, said: str) -> None:
    found = [confidence for _, _, confidence in signs(explained(made, tmp_path))]
    assert found == ([said] * len(found) if said else [])
    assert bool(said) == bool(found)


def test_of_several_that_may_leak_the_first_stands_for_all(tmp_path: Path) -> None:
    found = explained(leaking_service(5, 2), tmp_path)["summary"]["findings"]
    (said,) = [one["text"] for one in found if "none ever freed" in one["text"]]
    assert said.startswith(
        "64 blocks (64.0 KiB) of server+0x2000, and blocks of 4 other sites, allocated throughout"
    )


def _sign_of(name: str, size: int) -> dict[str, Any]:
    return {
        "site": hash(name), "name": name, "function": name, "live_bytes": size, "live_blocks": 99,
        "confidence": "possible", "slope_bytes_per_s": 0, "verdict": "", "kept_free_bytes": 0,
    }  # fmt: skip


def test_sites_that_leak_little_each_and_pin_much_together_are_one_finding() -> None:
    """Each is below a hundredth of the peak, and shares its pages with the others."""
    of_four = [_sign_of(name, 70_000) for name in "abcd"]
    answer = {
        "signs": of_four, "sites": of_four, "live_bytes": 280_000, "share_of_peak": 0.03, "live_at": "end",
        "kept_together_bytes": 6 << 20,
    }  # fmt: skip
    (told,) = leaks.QUESTION.findings(answer)
    assert "of a, and blocks of 3 other sites," in told.text
    assert "they also keep 6.00 MiB of free memory resident" in told.text
    assert not leaks.QUESTION.findings({**answer, "share_of_peak": 0.005})
