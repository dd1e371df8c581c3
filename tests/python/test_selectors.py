# SPDX-License-Identifier: MIT
"""Call sites by the names that people give them."""

from __future__ import annotations

import pytest
from heapwright.model import Location, Site
from heapwright.model.selectors import matching, selected, why_none

PLACES = (
    ("shop::Parser::parse_line(char*)", "/src/shop/parse.cpp", 12),
    ("shop::parse_file(char*)", "/src/shop/parse.cpp", 40),
    ("shop::parse_line(int)", "/src/shop/lines.cpp", 7),
    ("shop::operator*(shop::Row const&, int)", "/src/shop/rows.cpp", 3),
    ("shop::operator+(shop::Row const&, int)", "/src/shop/rows.cpp", 9),
)
SITES = [
    Site(number, (Location(function, file, line, False, "shop"),), number)
    for number, (function, file, line) in enumerate(PLACES)
]


@pytest.mark.parametrize(
    ("pattern", "numbers"),
    [
        ("parse_line", [0, 2]),
        ("shop::parse_line", [2]),
        ("parse_line@parse.cpp:12", [0]),
        ("parse_line@shop/lines.cpp:7", [2]),
        ("parse_line@parse.cpp:13", []),
        ("3", [3]),
        ("parse_*", [0, 1, 2]),
        ("parse_*@parse.cpp:*", [0, 1]),
        ("shop::*line", [0, 2]),
        ("arse_*", []),
        ("*@rows.cpp:9", [4]),
        ("operator*", [3]),  # a function's whole name comes first
    ],
)
def test_names(pattern: str, numbers: list[int]) -> None:
    assert [site.number for site in matching(SITES, pattern)] == numbers
    if "*" not in pattern:
        assert selected(SITES, pattern) == matching(SITES, pattern)


def test_what_names_none() -> None:
    assert (
        why_none(SITES, "parse_lin")
        == "no call site parse_lin in the recording; did you mean shop::parse_line?"
    )
    assert why_none(SITES, "9") == "no site 9; their numbers are below 5 (heapwright explain --json)"
    assert why_none(SITES, "zzz") == "no call site zzz in the recording; heapwright explain names them"
