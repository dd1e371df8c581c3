# SPDX-License-Identifier: MIT
"""What lint prints, from findings made by hand; and that its JSON is as the schema says."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import jsonschema
import pytest
from heapwright.cli import schemas
from heapwright.lint import document as documents
from heapwright.lint import show
from heapwright.lint.expression import Owner
from heapwright.lint.finding import Costs, Finding, Remedy
from heapwright.lint.recorded import ELSEWHERE, Looked, Reason
from rich.console import Console

SCHEMA = schemas.of("lint")
SNAPSHOTS = Path(__file__).parents[1] / "snapshots"

FOUND = Finding(
    "string-concatenation",
    "src/a/rather/deep/folder/of/the/parser/parse_line.cpp",
    120,
    9,
    "shop::parse_line",
    'key + ": [bold]" + value',
    "std::string",
    owner=Owner("local", "line"),
    is_in_loop=True,
    callee="std::operator+",
    callers=("shop::read src/read.cpp:42",),
    costs=Costs(750_000, 48_000_000, 90_000_000, 750_000, 740_000, 750_000 * 2_000, 640),
    remedy=Remedy(
        "append the parts to one string",
        time_ns=90_000_000,
        time_share=0.12,
        what="all calls of this line",
        when_not="it is short",
    ),
    fingerprint="0123456789abcdef",
)
LOOKED = Looked(
    (FOUND,),
    1_000_000,
    750_000,
    48_000_000,
    64_000_000,
    1,
    1,
    (Reason(ELSEWHERE, 250_000, ("/usr/src/other",)),),
    (),
    750_000_000,
)
HIDDEN = {"nolint": 2, "baseline": 0, "unchanged": 1}


def document(looked: Looked | None = LOOKED) -> dict[str, object]:
    linted = documents.Linted(
        "shop.heapwright", "shop", "/home/me/shop", looked, (FOUND,), HIDDEN, ("a note",), False
    )
    return documents.make(linted)


def test_the_schema_holds() -> None:
    for made in (document(), document(None)):
        jsonschema.validate(json.loads(json.dumps(made)), SCHEMA)


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_on_a_terminal(columns: int) -> None:
    text = io.StringIO()
    show.on_console(document(), 10, Console(file=text, width=columns, highlight=False, markup=False))
    said = "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())
    assert max(map(len, said.splitlines())) <= columns
    path = SNAPSHOTS / f"lint-{columns}.txt"
    if os.environ.get("HEAPWRIGHT_RENEW"):
        path.write_text(said, encoding="utf-8")
    assert said == path.read_text(encoding="utf-8")


def test_the_answer_comes_first() -> None:
    first, second = show.head(document())
    assert first == "75.0 % of 1,000,000 recorded allocations are explained by 1 line."
    assert second == "Not explained: 25.0 % source not in the folder (/usr/src/other)."
    assert "not shown: 2 by NOLINT, 1 on unchanged lines" in show.foot(document(), 10)


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ("std::make_shared<Point>(1)", ". std::make_shared<Point>(1)."),
        ("found.reserve(5); before the loop", ". found.reserve(5); before the loop."),
        ("append the parts to one string", ". Append the parts to one string."),
        ("share one object, or", ". Share one object, or."),
    ],
)
def test_a_sentence_leaves_code_as_it_is(action: str, said: str) -> None:
    row = documents.make(
        documents.Linted(
            "", "", "/home/me", None, (FOUND._replace(remedy=Remedy(action)),), HIDDEN, (), False
        )
    )["findings"][0]
    assert show.sentence(row).endswith(said)
