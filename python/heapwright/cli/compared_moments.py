# SPDX-License-Identifier: MIT
"""heapwright compare for two dumps of one process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from heapwright.cli import output
from heapwright.cli.errors import InputError
from heapwright.cli.result_forms import Forms
from heapwright.compare.moments import show
from heapwright.compare.moments.document import between, make
from heapwright.model import Trace
from heapwright.model.wholeness import forgotten_in_words


def _are_meant(a: Trace, b: Trace) -> bool:
    """Whether both are of one image of a process, up to different moments."""
    one, other = a.metadata, b.metadata
    is_same = one.start_unix_ns and (one.host, one.process_id, one.start_unix_ns, one.program) == (
        other.host,
        other.process_id,
        other.start_unix_ns,
        other.program,
    )
    is_cut = "still_running" in (a.end.reason, b.end.reason)
    return bool(is_same) and is_cut and a.end.time_ns != b.end.time_ns


def compare(sides: Sequence[Sequence[Trace]], unfit: Mapping[str, object], top: int, forms: Forms) -> bool:
    """False: these are of runs. unfit: the given values of options that apply only to those, by name."""
    if any(len(side) != 1 for side in sides):
        return False
    (a,), (b,) = sides
    if not _are_meant(a, b):
        return False
    for option, value in unfit.items():
        if value:
            raise InputError(f"{option} applies to different runs, not to two dumps of one process; omit it")
    if a.end.time_ns > b.end.time_ns:
        raise InputError(f"{a.path} was taken after {b.path}; name the earlier one first")
    if a.metadata.sample_mean_bytes != b.metadata.sample_mean_bytes:
        raise InputError(f"{a.path} and {b.path} are samples of different --sample; they cannot be compared")
    notes = []
    if b.metadata.forgotten_before_ns > a.end.time_ns:
        notes.append(f"in {b.path} {forgotten_in_words(b.metadata.forgotten_before_ns)}")
    made = make(between(a, b), notes)
    forms.show(
        made,
        lambda console: show.on_console(made, top, console),
        lambda: show.as_markdown(made, top),
    )
    output.hint(show.next_command(made))
    return True
