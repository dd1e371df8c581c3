# SPDX-License-Identifier: MIT
"""The structs of src/analyze/facts/processor.hpp, where their fields are explained.

Written by src/python_module/fields.py at each build, not by hand.
"""

# Annotations are values here: values.py reads the rows by them.

from typing import NamedTuple


class Processor(NamedTuple):
    """Within the recorded spans of the selected time, whichever calls were selected."""

    is_known: bool
    cpu_ns: int
    system_ns: int
    minor_faults: int
    major_faults: int
    seen_faults: int
    seen_fault_ns: int
    refaults: int
    refault_ns: int
    heap_refaults: int
    heap_refault_ns: int


class RefaultSite(NamedTuple):
    """Refaults by the call that took the pages again and the one that freed them before."""

    stack: int
    free_stack: int
    freed_stack: int
    given_back_by: int
    faults: int
    fault_ns: int
    times: int
