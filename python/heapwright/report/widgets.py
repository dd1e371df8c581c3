# SPDX-License-Identifier: MIT
"""What shows answers to people: rich's parts and our tables, imported when the first of them is used.

Answers as data (--json) need none of them, and importing rich takes longer
than reading a short trace.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, Group, RenderableType
    from rich.table import Table
    from rich.text import Text

    from heapwright.terminal.columns import Columns, Styled
    from heapwright.terminal.fitting import Fitting
    from heapwright.terminal.pairs import Pairs

_MODULES = {
    "Columns": "heapwright.terminal.columns",
    "Fitting": "heapwright.terminal.fitting",
    "Group": "rich.console",
    "Pairs": "heapwright.terminal.pairs",
    "Styled": "heapwright.terminal.columns",
    "Table": "rich.table",
    "Text": "rich.text",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    part = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return part


__all__ = ["Columns", "Console", "Fitting", "Group", "Pairs", "RenderableType", "Styled", "Table", "Text"]
