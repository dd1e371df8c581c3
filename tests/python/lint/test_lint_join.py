# SPDX-License-Identifier: MIT
"""Which expression of a line is named for what was recorded there."""

from __future__ import annotations

from heapwright.lint.expression import CALL, CONSTRUCT, NEW, UNKNOWN, Expression, LineFacts, Owner
from heapwright.lint.join import name_it
from heapwright.lint.lines import Group
from heapwright.model.symbols import Location

LINE = 9


def expression(form: str, name: str, of: str = "", type_name: str = "", is_std: bool = True) -> Expression:
    text = f"{name}()"
    return Expression(
        form, name, of, type_name, "", 0, is_std, Owner(UNKNOWN), False, LINE, 1, LINE, LINE, text, "f"
    )


def group(callee: str, kind: str = "") -> Group:
    return Group(None, Location("f", "a.cpp", LINE, False, ""), callee, "", kind, 0)


def test_a_list_of_parts_does_not_name_one_for_anothers_blocks() -> None:
    """Q q{"a long string …", "another …", std::make_unique<int>(3)}: the strings have no expression of theirs."""
    pointer = LineFacts((expression(CALL, "make_unique", "", "std::unique_ptr<int>"),))
    assert name_it(group("std::string::_M_create", "string"), pointer, LINE) is None
    own = name_it(group("std::make_unique", "unique_ptr"), pointer, LINE)
    assert own is not None and own.expression is not None and own.expression.name == "make_unique"


def test_what_only_looks_is_not_what_allocates() -> None:
    looks = LineFacts((expression(CALL, "size", "basic_string"),))
    assert name_it(group("std::string::_M_create", "string"), looks, LINE) is None


def test_of_two_that_fit_as_well_none_is_exact() -> None:
    one = expression(CALL, "append", "basic_string")
    found = name_it(group("std::string::append", "string"), LineFacts((one,)), LINE)
    assert found is not None and found.is_exact
    both = name_it(group("std::string::append", "string"), LineFacts((one, one._replace(column=9))), LINE)
    assert both is not None and not both.is_exact


def test_new_of_a_class_with_its_own_operator_new() -> None:
    at = LineFacts(
        (
            expression(NEW, "Own", "", "n::Own", is_std=False),
            expression(CONSTRUCT, "Own", "Own", "n::Own", False),
        )
    )
    found = name_it(group("n::Own::operator new"), at, LINE)
    assert found is not None and found.expression is not None
    assert (found.kind, found.expression.form, found.is_exact) == ("new-object", NEW, True)
