# SPDX-License-Identifier: MIT
"""docs/journey.md from begin to end: its commands run in order, and say what the document says they do."""

from __future__ import annotations

import os
import re
import subprocess

import pytest
from conftest import project

pytestmark = pytest.mark.full

pytest.importorskip("clang.cindex")  # for lint
PAGE = (project / "docs/journey.md").read_text(encoding="utf-8")
# What stands in the document and comes of its commands, by a word of the command. Figures of time and of growth differ.
SAID = {
    "explain build/journey/0.heapwright": (
        "acquire  journey/server.cpp",
        "fill  journey/server.cpp",
        "of the peak is held by acquire",
        "of all allocations come from (anonymous namespace)::token_of",
    ),
    "lint --with build/journey/0.heapwright": (
        "Request::fields, a member of reused objects, keeps the capacity of its largest use",
        "on average (creep)",
    ),
    "lint --with build/journey/3.heapwright": (
        "journey/server.cpp:158 shared_ptr(new T) makes a separate control block",
        "use std::make_shared, or make_shared_private if the constructor is private",
    ),
    "server0 --run": ("less at the peak (−64 %)", "less peak resident memory (−5"),
    "server1 --run": ("less at the end (−100 %)", "100 % of it at fill", "less peak resident memory (−3"),
    "--question cause": ("helps in part", "blocks of read_session"),
    "replay": ("glibc segregate@read_session",),
    "server2 --run": ("less resident at the end (−",),
    "server3 --run": ("600,000 fewer allocations (−38 %); 100 % of them at token_of",),
    "-- build/journey/server\n": ("2 of 4 limits broken", "600,000 above the limit of 992,707", "title_of"),
}


def plain(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Each command, and what it printed and ended with behind it."""
    folder = tmp_path_factory.mktemp("journey")
    for name in ("examples", "include", ".venv"):
        (folder / name).symlink_to(project / name)
    lines = [
        line for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S) for line in block.splitlines()
    ]
    script = "".join(f"echo '$' {line!r}\n{line}\necho \"ended with $?\"\n" for line in lines)
    own = {**os.environ, "COLUMNS": "78", "HEAPWRIGHT_BIN": str(project / "build/release/bin")}
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=own, capture_output=True, text=True, timeout=600, check=False
    )
    return done.stdout


def answer_to(said: str, word: str) -> str:
    answers = [answer for answer in said.split("$ ")[1:] if word in answer.partition("\n")[0] + "\n"]
    assert answers, word
    return answers[-1]


@pytest.mark.parametrize("word", SAID)
def test_the_document_and_the_commands_say_the_same(said: str, word: str) -> None:
    answer = plain(answer_to(said, word))
    for phrase in SAID[word]:
        assert plain(phrase) in answer
        assert plain(phrase) in plain(PAGE)


def test_every_command_ends_as_the_document_says(said: str) -> None:
    answers = said.split("$ ")[1:]
    failed = [answer.partition("\n")[0] for answer in answers if not answer.rstrip().endswith("ended with 0")]
    assert failed == ["heapwright gate build/journey/heap.toml -- build/journey/server"]
    assert answers[-1].rstrip().endswith("ended with 1")
