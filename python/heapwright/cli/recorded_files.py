# SPDX-License-Identifier: MIT
"""The files written by a recording, from the collector's summary."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heapwright.cli.errors import InputError


def files_of(summary: Path) -> list[dict[str, Any]]:
    """The written files; empty if the collector reported an error."""
    try:
        files = json.loads(summary.read_text(encoding="utf-8"))["files"]
    except FileNotFoundError:
        return []
    except (ValueError, KeyError) as error:
        raise InputError(f"the collector's summary cannot be read: {error}") from None
    return [file for file in files if file["error"] is None or file["bytes"]]


def main_file(files: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The process with the most calls."""
    return max(files, key=lambda file: int(file["events"]))
