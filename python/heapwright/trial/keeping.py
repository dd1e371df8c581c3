# SPDX-License-Identifier: MIT
"""How to keep a remedy that environment variables do: one line for whoever starts the program."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping


def ways(variables: Mapping[str, str], command: str) -> dict[str, str]:
    """Lines for a shell, a unit of systemd, Docker and Kubernetes; empty without variables.

    >>> ways({"MALLOC_ARENA_MAX": "1"}, "./shop")["systemd"]
    'Environment="MALLOC_ARENA_MAX=1"'
    >>> ways({"MALLOC_CONF": "a:1,b:2"}, "./shop")["kubernetes"]
    'env: [{name: MALLOC_CONF, value: "a:1,b:2"}]'
    """
    if not variables:
        return {"shell": "", "systemd": "", "docker": "", "kubernetes": ""}
    pairs = [f"{name}={value}" for name, value in variables.items()]
    entries = (f"{{name: {name}, value: {json.dumps(value)}}}" for name, value in variables.items())
    # systemd takes % and \ for its own.
    quoted = (pair.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%") for pair in pairs)
    return {
        "shell": f"{' '.join(map(_assigned, pairs))} {command}",
        "systemd": f"Environment={' '.join(f'{chr(34)}{pair}{chr(34)}' for pair in quoted)}",
        "docker": f"docker run {' '.join(f'--env {shlex.quote(pair)}' for pair in pairs)} IMAGE",
        "kubernetes": f"env: [{', '.join(entries)}]",
    }


def _assigned(pair: str) -> str:
    name, _, value = pair.partition("=")
    return f"{name}={shlex.quote(value)}"
