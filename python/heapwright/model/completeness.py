# SPDX-License-Identifier: MIT
"""Whether a recording is whole, and what of the run it covers."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """A time in which calls were recorded."""

    from_ns: int
    to_ns: int


class Coverage(NamedTuple):
    """What of the run was recorded, whether or not every call of that is in the trace; see Completeness."""

    coverage: tuple[Span, ...]
    has_start: bool
    has_end: bool
    pauses: int

    @property
    def covers_whole_run(self) -> bool:
        """True when the process was recorded from its beginning to its end."""
        return self.has_start and self.has_end and self.pauses == 0


class Completeness(NamedTuple):
    """Whether every call of the times covered is in the trace, and if not, why.

    coverage is what of the chosen time was recorded; has_start, has_end and pauses are about the
    whole run: whether recording was on when the process began and ended, and how often it paused.
    """

    is_complete: bool
    dropped: int
    sequence_gaps: int
    reasons: tuple[str, ...]
    coverage: tuple[Span, ...]
    has_start: bool
    has_end: bool
    pauses: int

    @property
    def covers_whole_run(self) -> bool:
        """True when the process was recorded from its beginning to its end."""
        return Coverage(self.coverage, self.has_start, self.has_end, self.pauses).covers_whole_run
