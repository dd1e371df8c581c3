# SPDX-License-Identifier: MIT
"""All schemas are kept; lab's holds for committed results.

That those of record, sql, export and of several processes hold for what is printed, tests/journeys/test_agents_loop.py says.
"""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from heapwright.cli import output_schemas, schemas

PROJECT = Path(__file__).resolve().parents[2]
SCHEMAS = PROJECT / "python/heapwright/schemas"
RESULTS = sorted((PROJECT / "bench/results").glob("lab-*.json"))


@pytest.mark.parametrize("name", schemas.SCHEMAS)
def test_the_schemas_are_kept(name: str) -> None:
    """Renewed by python -m heapwright.cli.schemas; fields of version 1 are never dropped or renamed."""
    text = schemas.kept(name).read_text(encoding="utf-8")
    assert text == schemas.as_text(name)
    jsonschema.Draft202012Validator.check_schema(json.loads(text))


def test_no_other_schema_is_kept() -> None:
    assert {schemas.kept(name) for name in schemas.SCHEMAS} == set(SCHEMAS.iterdir())


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
