# SPDX-License-Identifier: MIT
"""The schemas of record, sql, export, lab and of several processes are kept; lab's holds for committed results.

That the others hold for what is printed, tests/journeys/test_agents_loop.py says.
"""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from heapwright.cli import output_schemas

PROJECT = Path(__file__).resolve().parents[2]
SCHEMAS = PROJECT / "python/heapwright/schemas"
RESULTS = sorted((PROJECT / "bench/results").glob("lab-*.json"))


@pytest.mark.parametrize("name", output_schemas.DOCUMENTS)
def test_the_schemas_are_kept(name: str) -> None:
    text = (SCHEMAS / f"{name}-1.json").read_text(encoding="utf-8")
    assert text == output_schemas.as_text(name)
    jsonschema.Draft202012Validator.check_schema(json.loads(text))


def test_lab_is_as_its_schema_says() -> None:
    assert RESULTS
    kept = output_schemas.schema("lab")
    for path in RESULTS:
        document = json.loads(path.read_text(encoding="utf-8"))
        jsonschema.validate(document, kept)
        document["experiments"][0]["colour"] = "blue"
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(document, kept)


def test_each_command_of_the_agents_page_has_its_schema() -> None:
    text = (PROJECT / "docs/agents.md").read_text(encoding="utf-8")
    for path in SCHEMAS.glob("*.json"):
        assert f"`python/heapwright/schemas/{path.name}`" in text, path.name
