# SPDX-License-Identifier: MIT
"""Code that a language's runtime has made and not named: what would make it do so."""

from __future__ import annotations

from collections.abc import Sequence

from heapwright.model.symbols import RUNTIMES_CODE, Symbols

# By the runtime's name in the recording.
_SWITCHES = {
    "JavaScript": "node --perf-basic-prof --interpreted-frames-native-stack",
    "Java": "java -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit",
    "Python": "python -X perf (3.12 and later)",
    ".NET": "DOTNET_PerfMapEnabled=1",
}
_DOTNETS_LIBRARY = "libcoreclr.so"
_LEAST_PERCENT = 5


def unnamed_code(
    parents: Sequence[int],
    frames: Sequence[int],
    is_loose: Sequence[bool],
    allocations: Sequence[int],
    symbols: Symbols,
    runtime: str,
) -> list[str]:
    """One line if a real part of the allocations comes through such code; else none.

    is_loose: by frame, whether its code is in no file. allocations: by stack.
    """
    if True not in is_loose:  # as nearly always: without a look at names
        return []
    libraries = symbols.libraries
    runtime = ".NET" if _DOTNETS_LIBRARY in libraries else runtime
    if runtime not in _SWITCHES or RUNTIMES_CODE in libraries:
        return []
    is_through = bytearray(len(frames))
    for stack in range(1, len(frames)):  # callers have lower numbers
        frame = frames[stack]
        is_through[stack] = is_through[parents[stack]] or (frame < len(is_loose) and is_loose[frame])
    total = sum(allocations)
    through = sum(count for count, is_so in zip(allocations, is_through, strict=True) if is_so)
    if through * 100 < total * _LEAST_PERCENT or not through:
        return []
    return [
        f"{100 * through / total:.0f} % of allocations come through code that {runtime} made at run time: "
        f"{_SWITCHES[runtime]} gives its functions names"
    ]
