# SPDX-License-Identifier: MIT
"""HTML whose texts are escaped wherever they come from."""

from __future__ import annotations

from html import escape


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
