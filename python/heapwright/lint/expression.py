# SPDX-License-Identifier: MIT
"""What an expression in a source is, as plain data: it crosses from the processes that parse."""

# Annotations are values here: compiling them from text for each NamedTuple field takes half the import time.

from typing import NamedTuple

# Owners: who has the block when the expression is done.
LOCAL, STATIC, GLOBAL, PARAMETER, MEMBER = "local", "static", "global", "parameter", "member"
GIVEN, RETURNED, ELEMENT, ARGUMENT, TEMPORARY, THROWN, UNKNOWN = (
    "given-away",
    "returned",
    "element",
    "argument",
    "temporary",
    "thrown",
    "unknown",
)
OWNERS = (
    LOCAL,
    STATIC,
    GLOBAL,
    PARAMETER,
    MEMBER,
    GIVEN,
    RETURNED,
    ELEMENT,
    ARGUMENT,
    TEMPORARY,
    THROWN,
    UNKNOWN,
)

NEW, NEW_ARRAY, THROW, CALL, CONSTRUCT, DEPENDENT = "new", "new[]", "throw", "call", "construct", "dependent"


class Owner(NamedTuple):
    """kind: one of OWNERS; name: of the variable, the member with its class, the function. usr: of a member,
    the same in every file; "" = not known."""

    kind: str
    name: str = ""
    usr: str = ""


class Expression(NamedTuple):
    """form: NEW, CALL … name: of the function, without its class. owned_by: of what it makes, or of the
    container that grows. how: of a constructor: copy, move, default or other; of others "".

    line: where it is called; begin_line, end_line: the whole of it.
    is_std: the function is the standard library's; is_user: it is in the user's sources.
    """

    form: str
    name: str
    class_name: str
    type_name: str
    how: str
    arguments: int
    is_std: bool
    owner: Owner
    is_in_loop: bool
    line: int
    column: int
    begin_line: int
    end_line: int
    text: str
    function: str


class LineFacts(NamedTuple):
    """What stands at a line. is_class: a class begins there: a function with this line is one that the
    compiler wrote. is_constructor: a constructor's own line: its members are made there."""

    expressions: tuple[Expression, ...] = ()
    is_class: bool = False
    is_constructor: bool = False
    function: str = ""
    is_template: bool = False
    is_closing: bool = False  # the end of a block: destructors are called there
