# SPDX-License-Identifier: MIT
"""Columns of a data class: units by the types of its fields, or as their annotations say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

import jsonschema
import pytest
from heapwright.report.columns import Choice, Many, MapOf, OrNull
from heapwright.report.declared import Difference, Unit, columns_of
from heapwright.report.schema import COUNT, object_of


@dataclass(frozen=True)
class Inner:
    calls: int


@dataclass(frozen=True)
class More(Inner):
    is_known: bool = True


@dataclass(frozen=True)
class Outer:
    inner: Annotated[Inner, "What is in it."]
    names: Sequence[str]
    by_name: Mapping[str, Difference]
    rows: Annotated[Sequence[More] | None, "Null", "without rows."]
    verdict: Annotated[str, Choice(("same", "other"))]
    figures: Annotated[Mapping[str, Inner], Unit("figures")]
    ns: float = 0.5


def test_units_are_those_of_the_types() -> None:
    inner = columns_of(Inner)
    assert [(column.key, column.unit, column.about) for column in columns_of(Outer)] == [
        ("inner", inner, "What is in it."),
        ("names", Many("text"), ""),
        ("by_name", MapOf("difference"), ""),
        ("rows", OrNull(Many(columns_of(More))), "Null without rows."),
        ("verdict", Choice(("same", "other")), ""),
        ("figures", "figures", ""),
        ("ns", "number", ""),
    ]
    assert [column.key for column in columns_of(More)] == ["calls", "is_known"]


def test_an_instance_is_as_its_schema_says() -> None:
    schema = {**object_of(columns_of(Outer)), "$defs": {"count": COUNT, "figures": {"type": "object"}}}
    check = jsonschema.Draft202012Validator(schema)
    made = asdict(Outer(Inner(1), ["a"], {"a": -1.5}, None, "same", {}))
    check.validate(made)
    check.validate({**made, "rows": [asdict(More(2))]})
    for wrong in ({"ns": -1}, {"by_name": {"a": "b"}}, {"rows": [{"calls": 2}]}, {"verdict": "x"}, {"y": 1}):
        with pytest.raises(jsonschema.ValidationError):
            check.validate({**made, **wrong})
