# SPDX-License-Identifier: MIT
"""Programs of what is often reported of heaps: the first screen names what mended them, and nothing that does
not."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from conftest import Record, command

pytestmark = pytest.mark.full

# Of a program: the words that a finding has to have, and words that none may have.
SAID = {
    "trims": ("call malloc_trim less often", "MALLOC_TRIM_THRESHOLD_"),
    "locks": ("make it a local object", "small_vector"),
    "lookups": ("pass a std::string_view", "small_vector"),
    "throws": ("instead of throwing", "small_vector"),
    "sets": ("use a container without nodes", "no certain gain"),
    "copies": ("", "had been given back"),
    "frames": ("MALLOC_MMAP_THRESHOLD_=67108864", "MALLOC_MMAP_THRESHOLD_=33554432"),
    "snapshots": ("copies a std::vector again and again", "worth trying"),
}


def findings(record: Record, name: str) -> list[dict[str, Any]]:
    path = record("reported", name).trace().path
    words = [str(command), "explain", str(path), "--json"]
    done = subprocess.run(words, capture_output=True, check=True, timeout=120)
    found: list[dict[str, Any]] = json.loads(done.stdout)["summary"]["findings"]
    return found


@pytest.mark.parametrize("name", SAID)
def test_the_first_screen_says_what_helps(record: Record, name: str) -> None:
    told = [one["text"] for one in findings(record, name)]
    helps, is_wrong = SAID[name]
    assert any(helps in text for text in told), told
    assert not any(is_wrong in text for text in told), told


def test_what_a_program_trims_itself_is_not_its_headline(record: Record) -> None:
    told = [one["text"] for one in findings(record, "cleared") if one["question"] == "cause"]
    assert not told, "the buckets are live"
