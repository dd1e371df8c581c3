# SPDX-License-Identifier: MIT
"""The budget file: what it may say, and one line for what it may not."""

from __future__ import annotations

import pytest
from heapwright.gate.budget import BudgetError, parse
from written_traces import PROJECT


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[program", "not valid TOML: expected ']' at the end of a table declaration (at end of document)"),
        ("[progam]\ncalls = 1", "the file: unknown key progam; did you mean program?"),
        ("[program]\ncals = 1", "program: unknown key cals; did you mean calls?"),
        ("calls = 5",
         "the file: calls belongs below [program], [[site]], [[thread]], [[phase]] or [[scope]]"),
        ("resident_peak_bytes = 5", "the file: resident_peak_bytes belongs below [program]"),
        ("[program]\ncalls = -1", "program: calls takes a number of at least 0, not -1"),
        ("[program]\ncalls = true", "program: calls takes a number of at least 0, not True"),
        ("[program]\ncalls = nan", "program: calls takes a number of at least 0, not nan"),
        ("[program]\ncalls = '4k'", "program: calls takes a number of at least 0, not '4k'"),
        ("[program]\ncalls = 1\ntwo_sided = 2", "program: two_sided is true, false, or a share such as 0.05, not 2"),
        ("[program]\ncalls = 1\nreason = 2", "program: reason is a text, optional is true or false"),
        ("[program]\nreason = 'x'",
         "program has no limit; known limits: calls, bytes, peak_live_bytes, live_at_end_bytes, live_at_end_blocks, "
         "lost_bytes, lost_blocks, resident_peak_bytes, growth_bytes_per_s, p50_ns, p99_ns, p999_ns"),
        ("[[site]]\ncalls = 1", 'a [[site]] has no name; write name = "…"'),
        ("[[site]]\nname = '2'\ncalls = 1", "site 2: name a function; numbers are valid in only one recording"),
        ("[site]\ncalls = 1", "site is a list of tables: [[site]]"),
        ("[[program]]\ncalls = 1", "program is one table: [program]"),
        ("[[site]]\nname = 'f'\nresident_peak_bytes = 1",
         "site f: resident_peak_bytes is not one of its limits; known limits: calls, bytes, peak_live_bytes, live_at_end_bytes, "
         "live_at_end_blocks, lost_bytes, lost_blocks, growth_bytes_per_s, p50_ns, p99_ns, p999_ns"),
        ("[[scope]]\nname = 's'\ncalls_per_run = 1",
         "scope s: calls_per_run is not one of its limits; known limits: calls, bytes, peak_live_bytes, live_at_end_bytes, "
         "live_at_end_blocks, growth_bytes_per_s, p50_ns, p99_ns, p999_ns"),
        ("ignore = 'libz'", 'ignore is a list of texts: ignore = ["libpython*"]'),
        ("[program]\ncalls = 1\n[program.sites]\nf = 3",
         "program.sites is written by --accept: name = {calls = …, bytes = …, peak_live_bytes = …}"),
    ],
)  # fmt: skip
def test_wrong_budgets(text: str, message: str) -> None:
    with pytest.raises(BudgetError) as error:
        parse(text)
    assert str(error.value) == message


WHOLE = """
ignore = ["libz*"]
suppressions = ["cache_*"]
two_sided = true

[program]
calls = 100
p99_ns = 2.5

[[site]]
name = "parse_line"
bytes = 10_000
two_sided = false
optional = true

[toolchain."gcc-12".program]
calls = 120

[[toolchain."gcc-12".site]]
name = "parse_line"
calls = 7
"""


def test_a_whole_budget() -> None:
    budget = parse(WHOLE)
    assert (budget.ignore, budget.suppressions) == (("libz*",), ("cache_*",))
    program, site = budget.rules
    assert (str(program), program.limits, program.band) == ("program", {"calls": 100, "p99_ns": 2.5}, 0.1)
    assert (str(site), site.limits, site.band, site.is_optional) == (
        "site parse_line",
        {"bytes": 10_000},
        None,
        True,
    )


def test_a_toolchain_comes_first_where_it_says_something() -> None:
    program, site = parse(WHOLE, "gcc-12").rules
    assert program.limits == {"calls": 120, "p99_ns": 2.5}
    assert site.limits == {"bytes": 10_000, "calls": 7}
    with pytest.raises(
        BudgetError, match=r'no \[toolchain."clang"\]; known: gcc-12; heapwright gate --accept'
    ):
        parse(WHOLE, "clang")


def test_the_document_shows_a_budget() -> None:
    text = (
        (PROJECT / "docs/gate.md").read_text(encoding="utf-8").partition("```toml\n")[2].partition("```")[0]
    )
    budget = parse(text)
    assert [str(rule) for rule in budget.rules] == [
        "program",
        "site parse_line",
        "thread worker*",
        "phase request",
        "scope parse",
    ]
