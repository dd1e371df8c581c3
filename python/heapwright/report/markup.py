# SPDX-License-Identifier: MIT
"""HTML whose texts are escaped wherever they come from."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from pathlib import Path

# What pages look like: colours.css, text.css, tables.css, charts.css.
STYLES = Path(__file__).parent / "styles"


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Child = str | Markup
Attribute = str | int | float | bool | None

_WITHOUT_END = frozenset(("br", "col", "input", "link", "meta"))


def joined(*children: Child) -> Markup:
    """One after the other; what is not Markup is escaped.

    >>> joined("a < b", Markup("<br>"))
    'a &lt; b<br>'
    """
    return Markup("".join(child if type(child) is Markup else escape(child) for child in children))


def tag(name: str, *children: Child, **attributes: Attribute) -> Markup:
    """An element. class_ is class, data_x is data-x; True: the attribute alone; False or None: without it.

    >>> tag("td", "<b>", class_="num", hidden=True, title=None)
    '<td class="num" hidden>&lt;b&gt;</td>'
    """
    head = name
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        spelt = key.rstrip("_").replace("_", "-")
        head += f" {spelt}" if value is True else f' {spelt}="{escape(str(value))}"'
    if name in _WITHOUT_END:
        return Markup(f"<{head}>")
    return Markup(f"<{head}>{joined(*children)}</{name}>")


def policy(style: str, script: str = "") -> str:
    """The Content-Security-Policy of a page with these: nothing is fetched, and only what is in it runs."""
    scripts = f"script-src {_digest(script)}; " if script else ""
    return (
        f"default-src 'none'; {scripts}style-src {_digest(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
