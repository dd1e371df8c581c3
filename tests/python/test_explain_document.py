# SPDX-License-Identifier: MIT
"""docs/explain-tables.md shows every table of the report, with today's titles and headings."""

import re
from pathlib import Path

import pytest
from heapwright.explain import QUESTIONS
from heapwright.explain.question import Question

project = Path(__file__).resolve().parents[2]
TITLE = re.compile(r"^(\S.*) \[(\w+)\]$")
LABEL = re.compile(r"^(\S.*?)(?:  |$)")


def pictures(text: str) -> dict[str, tuple[str, list[str]]]:
    """By question, in order: its title, which may be wrapped, and the lines below it, up to an empty one."""
    found: dict[str, tuple[str, list[str]]] = {}
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if (title := TITLE.match(line)) and not line.startswith("["):
            end = next((at for at in range(number, len(lines)) if lines[at] in ("", "```")), len(lines))
            begin = number
            while begin > 0 and lines[begin - 1] not in ("", "```text"):
                begin -= 1
            found[title[2]] = (" ".join([*lines[begin:number], title[1]]), lines[number + 1 : end])
    return found


document = pictures((project / "docs/explain-tables.md").read_text(encoding="utf-8"))
# What is printed; another test holds it.
printed = pictures((Path(__file__).parent / "snapshots/explain-200.txt").read_text(encoding="utf-8"))


SAYS_ITS_FIGURES = (
    "cause",
    "slow_calls",
    "page_faults",
    "held",
)  # in its title: the document has another recording's


def headings(line: str) -> list[str]:
    return [word for word in re.split(r"\s{2,}", line.strip()) if word]


def test_every_table_is_shown_in_the_order_of_the_report() -> None:
    assert list(document) == [question.name for question in QUESTIONS]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_titles_and_headings_are_those_of_today(question: Question) -> None:
    title, lines = document[question.name]
    assert len(lines) >= 2
    if question.name == "advice":  # sentences
        assert title == question.title
    elif question.name in ("timeline", "recorder"):  # each line has a label of its own
        labels = [LABEL.match(line) for line in lines if not line.startswith(" ")]
        today = [line for line in printed[question.name][1] if not line.startswith(" ")]
        assert labels
        assert all(label and any(line.startswith(label[1] + " ") for line in today) for label in labels)
        assert title == printed[question.name][0]
    elif question.name in printed and question.name not in SAYS_ITS_FIGURES:
        assert title == printed[question.name][0]
        assert headings(lines[0]) == headings(printed[question.name][1][0])
    else:
        assert title.startswith(question.title)  # figures may follow
        today = [
            [
                column.label.strip()
                for column in table.columns
                if isinstance(column.label, str) and column.label
            ]
            + ["call site"] * table.of_sites
            for table in question.tables
        ]
        assert headings(lines[0]) in today
