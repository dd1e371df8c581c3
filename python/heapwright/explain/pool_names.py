# SPDX-License-Identifier: MIT
"""Functions that hand out pieces of their allocations, by their names: whoever asks them is the site."""

from __future__ import annotations

import re
import shlex

from heapwright.model.names import bare_name, short_name

_IS_POOL = re.compile(
    r"(?:^|[_:]|(?<=[a-z]))(?:pool|palloc|arena|obstack|slab|zone|monotonic|bump)", re.IGNORECASE
)


def is_pool(function: str) -> bool:
    """Whether the function's name says so.

    >>> is_pool("ngx_palloc"), is_pool("make_row")
    (True, False)
    """
    return bool(_IS_POOL.search(bare_name(function)))


def hint(function: str) -> str:
    """How to see who asks a pool, as the end of a sentence; empty for other functions.

    >>> hint("ngx_palloc"), hint("make_row")
    ('; it hands out pieces: --skip ngx_palloc names its callers', '')
    """
    return f"; it hands out pieces: {skipping(function)} names its callers" if is_pool(function) else ""


def skipping(function: str) -> str:
    """The option that looks through the function; it takes a regular expression.

    >>> skipping("palloc(unsigned long)"), skipping("(anonymous namespace)::chunk(int)")
    ('--skip palloc', "--skip '\\\\(anonymous\\\\ namespace\\\\)::chunk'")
    """
    return f"--skip {pattern(function)}"


def pattern(function: str) -> str:
    """What --skip takes to look through the function, quoted for a shell.

    >>> pattern("palloc(unsigned long)")
    'palloc'
    """
    name = short_name(function)
    return shlex.quote(re.escape(name if name in function else function))
