# SPDX-License-Identifier: MIT
"""A source expression as plain data, sent from the parsing processes."""

# Annotations are values here: compiling them from text for each NamedTuple field takes half the import time.

from typing import NamedTuple

# Owners: who has the block after the expression.
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
    """kind: one of OWNERS; name: of the variable, the member with its class, or the function. usr: for a
    member, the same in every file; "" = not known."""

    kind: str
    name: str = ""
    usr: str = ""


class Expression(NamedTuple):
    """form: NEW, CALL … name: of the function, without its class. owned_by: of what it makes, or of the
    container that grows. how: for a constructor: copy, move, default or other; otherwise "".

    line: of the call; begin_line, end_line: of the whole expression.
    is_std: the function is in the standard library; is_user: it is in the user's sources.
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
    """What is at a line. is_class: a class begins there: a function with this line is compiler-generated.
    is_constructor: the line of a constructor, where its members are made."""

    expressions: tuple[Expression, ...] = ()
    is_class: bool = False
    is_constructor: bool = False
    function: str = ""
    is_template: bool = False
    is_closing: bool = False  # the end of a block, where destructors are called
