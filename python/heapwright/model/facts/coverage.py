# SPDX-License-Identifier: MIT
"""The structs of src/analyze/facts/coverage.hpp, where their fields are explained.

Written by src/python_module/fields.py at each build, not by hand.
"""

# Annotations are values here: values.py reads the rows by them.

from typing import NamedTuple


class Span(NamedTuple):
    """A time span in which calls were recorded: [from_ns, to_ns)."""

    from_ns: int
    to_ns: int


class Coverage(NamedTuple):
    """Which part of the run was recorded. Calls outside of it were not seen."""

    spans: tuple[Span, ...]
    has_start: bool
    has_end: bool
    pauses: int
    is_whole_run: bool


class Completeness(NamedTuple):
    """Whether every call of the covered times is in the trace, and if not, why."""

    is_complete: bool
    dropped: int
    sequence_gaps: int
    reasons: tuple[str, ...]
