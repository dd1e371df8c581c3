# SPDX-License-Identifier: MIT
"""The structs of src/analyze/facts/realloc_chains.hpp, where their fields are explained.

Written by src/python_module/fields.py at each build, not by hand.
"""

# Annotations are values here: values.py reads the rows by them.

from typing import NamedTuple


class ReallocChains(NamedTuple):
    """A buffer that grew (or shrank) by realloc, from its first allocation to its release; summed
    by the site of its last realloc.
    """

    site: int
    chains: int
    steps: int
    moved: int
    copied_bytes: int
    steps_ns: int
    longest_steps: int
    final_bytes: int
