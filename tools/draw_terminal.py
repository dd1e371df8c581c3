#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws what a command prints on a terminal as an SVG without fonts or links of its own.

tools/draw_terminal.py docs/terminal.svg 31 heapwright explain service.heapwright

The number is how many lines there is room for.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

_COLUMNS = 100
# Of rich's own frame: its window and its font from elsewhere go.
_FORMAT = """<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve"
viewBox="0 0 {width} {terminal_height}">
<style>{styles}
.{unique_id}-matrix {{ font-family: ui-monospace, Consolas, Menlo, "DejaVu Sans Mono", monospace;
font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}</style>
<defs>{lines}</defs>
<rect width="{width}" height="{terminal_height}" rx="8" fill="#1b1d21"/>
<g transform="translate(12, 10)"><g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""


def main() -> int:
    """Runs the command with colours, 100 columns wide, and draws its output below it."""
    if len(sys.argv) < 4 or not sys.argv[2].isdecimal():
        sys.stderr.write("usage: tools/draw_terminal.py FILE.svg LINES COMMAND [ARGUMENTS]\n")
        return 2
    target, most, command = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    around = {**os.environ, "COLUMNS": str(_COLUMNS), "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    said = subprocess.run(command, env=around, check=True, text=True, stdout=subprocess.PIPE)
    console = Console(record=True, width=_COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text(f"$ {Path(command[0]).name} {shlex.join(command[1:])}", style="bold"))
    shown = said.stdout.splitlines()
    console.print(Text.from_ansi("\n".join(shown[:most])), crop=False)
    text = console.export_svg(title="", code_format=_FORMAT, unique_id="t")
    left_out = r' clip-path="url\(#t-line-\d+\)"|<defs>.*?</defs>\n|<text [^>]*>\n</text>'
    text = re.sub(left_out, "", text, flags=re.DOTALL)
    target.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
