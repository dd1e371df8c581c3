# SPDX-License-Identifier: MIT
"""Schemas are made from the code, the same each time, and lose no name; lab's holds for what the lab prints.

That those of record, sql, export and of several processes hold for what is printed, tests/journeys/test_agents_loop.py says.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from heapwright.cli import schemas

PROJECT = Path(__file__).resolve().parents[2]
NAMES = Path(__file__).parent / "names_of_version_1.txt"


def written(folder: Path, seed: str) -> dict[str, bytes]:
    """What a process of its own writes, whose sets have this order."""
    command = [sys.executable, "-m", "heapwright.cli.schemas", str(folder)]
    subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, check=True)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_each_process_writes_the_same(tmp_path: Path) -> None:
    first = written(tmp_path / "a", "1")
    assert first == written(tmp_path / "b", "2")
    assert set(first) == {f"{name}-1.json" for name in schemas.SCHEMAS}
    for name, text in first.items():
        found = json.loads(text)
        assert found == schemas.of(name.removesuffix("-1.json"))
        jsonschema.Draft202012Validator.check_schema(found)


def test_the_installation_has_them() -> None:
    installed = {str(path): path.locate() for path in metadata.files("heapwright") or ()}
    for name in schemas.SCHEMAS:
        text = Path(str(installed[f"heapwright/schemas/{name}-1.json"])).read_text(encoding="utf-8")
        assert json.loads(text)["$id"] == f"heapwright.{name}/1"


def names_of(schema: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    """Each name of each object, with the path to the object."""
    for name, inner in schema.get("properties", {}).items():
        yield path, name
        yield from names_of(inner, f"{path}.{name}")
    for name, inner in schema.get("$defs", {}).items():
        yield from names_of(inner, f"{path} {name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from names_of(schema[key], f"{path}[]")
    for key in ("anyOf", "allOf"):
        for inner in schema.get(key, ()):
            yield from names_of(inner, path)


@pytest.mark.parametrize("document", schemas.SCHEMAS)
def test_version_1_keeps_its_names(document: str) -> None:
    """The file lists what must stay; new names join it when HEAPWRIGHT_RENEW=1 is set, for example before a release."""
    found = set(names_of(schemas.of(document), document))
    lines = NAMES.read_text(encoding="utf-8").splitlines() if NAMES.exists() else []
    rows = {path: names.split() for path, _, names in (line.partition(": ") for line in lines)}
    promised = {
        (path, name)
        for path, names in rows.items()
        for name in names
        if re.split(r"[. \[]", path)[0] == document
    }
    assert not promised - found
    if os.environ.get("HEAPWRIGHT_RENEW"):
        for path, name in found - promised:
            rows[path] = sorted({*rows.get(path, ()), name})
        NAMES.write_text(
            "".join(f"{path}: {' '.join(rows[path])}\n" for path in sorted(rows)), encoding="utf-8"
        )
    else:
        assert promised


def test_the_documents_name_schemas_that_there_are() -> None:
    named = {
        path.name: set(re.findall(r"schemas/([\w-]+)-1\.json", path.read_text(encoding="utf-8")))
        for path in (PROJECT / "docs").glob("*.md")
    }
    assert named["agents.md"] == set(schemas.SCHEMAS)
    assert set().union(*named.values()) == set(schemas.SCHEMAS)
