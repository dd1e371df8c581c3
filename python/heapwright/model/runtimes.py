# SPDX-License-Identifier: MIT
"""Languages' runtimes that keep objects in memory of their own: how they are known, and what shows it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from heapwright.model import nested


class Runtime(NamedTuple):
    """name: as recordings have it. files: a file of its processes is called so, as a regular expression.

    keeps: what it keeps outside malloc. shows: what shows or bounds it, where no setting makes calls of it.
    """

    name: str
    files: str
    keeps: str
    shows: str = ""


TABLE = (
    Runtime(
        "Python",
        r"(?:lib)?python[23]?(?:\.\d+)*t?d?(?:\.so.*)?",
        "Python keeps small objects in its own arenas",
    ),
    Runtime("PHP", r"(?:lib)?php(?:-fpm|-cgi)?[\d.]*(?:\.so)?", "PHP keeps its values in its own heap"),
    Runtime(
        "JavaScript",
        r"node|nodejs|libnode\.so.*|deno|electron",
        "JavaScript's objects are in V8's own heap",
        "node --heapsnapshot-signal=SIGUSR2 writes what is in it, --max-old-space-size=MIB bounds it",
    ),
    Runtime(
        "Java",
        r"libjvm\.so",
        "Java's objects are in the virtual machine's own heap",
        "java -XX:NativeMemoryTracking=summary and jcmd PID VM.native_memory tell its parts, -Xmx bounds it",
    ),
    Runtime(
        "Go",
        "",  # known by the program's first bytes
        "Go's objects are in its runtime's own heap",
        "net/http/pprof names its call sites, GODEBUG=gctrace=1 tells its size, GOMEMLIMIT bounds it",
    ),
    Runtime(
        ".NET",
        r"libcoreclr\.so",
        ".NET's objects are in its own heap",
        "dotnet-gcdump tells what is in it, DOTNET_GCHeapHardLimit bounds it",
    ),
)
# The first note of a Go program: its build id, named "Go".
_GO_NOTE = re.compile(rb"\x04\0\0\0.{4}\x04\0\0\0Go\0\0", re.DOTALL)
HEAD_BYTES = 8192


def runtime_of(files: Iterable[str], head: bytes) -> str:
    """By the paths of a process's files and the first HEAD_BYTES of its program; "": none is known.

    >>> runtime_of(["/usr/bin/python3.11", "/lib/libc.so.6"], b""), runtime_of(["/usr/sbin/nginx"], b"")
    ('Python', '')
    """
    names = {path.rpartition("/")[2] for path in files}
    for one in TABLE:
        if one.files and any(re.fullmatch(one.files, name) for name in names):
            return one.name
    return "Go" if _GO_NOTE.search(head) else ""


def setting(runtime: str, environment: Mapping[str, str]) -> str:
    """NAME=VALUE with which each of its objects is a call of malloc; "": there is none, or it is set already.

    >>> setting("Python", {}), setting("Python", {"PYTHONMALLOC": "malloc"}), setting("Java", {})
    ('PYTHONMALLOC=malloc', '', '')
    """
    switch = next((entry.switch for entry in nested.TABLE if entry.runtime == runtime and runtime), "")
    name, _, value = switch.partition("=")
    return switch if switch and environment.get(name) != value else ""


def advice(runtime: str, environment: Mapping[str, str]) -> str:
    """What to do about memory of its own that grows; "": nothing is known, or the setting is set already.

    >>> advice("PHP", {})
    'PHP keeps its values in its own heap; USE_ZEND_ALLOC=0 makes each a call with its own site'
    >>> advice("PHP", {"USE_ZEND_ALLOC": "0"}), advice("", {})
    ('', '')
    """
    one = next((one for one in TABLE if one.name == runtime), None)
    if one is None:
        return ""
    switch = setting(runtime, environment)
    does = f"{switch} makes each a call with its own site" if switch else one.shows
    return f"{one.keeps}; {does}" if does else ""
