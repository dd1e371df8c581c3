# SPDX-License-Identifier: MIT
"""The structs of src/analyze/facts/patterns.hpp, where their fields are explained.

Written by src/python_module/fields.py at each build, not by hand.
"""

# Annotations are values here: values.py reads the rows by them.

from typing import NamedTuple


class ReleaseRun(NamedTuple):
    """Releases of one thread without an allocation by it, or a gap of a millisecond, between them."""

    thread: int
    site: int
    begin_ns: int
    end_ns: int
    busy_ns: int
    blocks: int
    bytes: int
    release_ns: int


class EmptiedSite(NamedTuple):
    """Blocks of a site that were freed in runs of releases which left almost none of the site's
    blocks: at most an eighth of what they freed.
    """

    leader: int
    site: int
    runs: int
    blocks: int
    bytes: int


class CopiedGrowth(NamedTuple):
    """Blocks that were replaced by a larger one: a thread allocated 1.25 to 4 times their size at
    their site, and freed them next. Vectors, strings and hash tables grow this way. Chains:
    buffers, however often they grew. Small steps: the same by less than that, as by what is needed,
    or freed after another block; in none of the other figures.
    """

    site: int
    steps: int
    copied_bytes: int
    time_ns: int
    chains: int
    final_p50_bytes: int
    final_p75_bytes: int
    final_p90_bytes: int
    small_steps: int
    small_copied_bytes: int
    small_time_ns: int
