# SPDX-License-Identifier: MIT
"""The structs of src/analyze/facts/mapped_memory.hpp, where their fields are explained.

Written by src/python_module/fields.py at each build, not by hand.
"""

# Annotations are values here: values.py reads the rows by them.

from typing import NamedTuple


class MappedMemory(NamedTuple):
    """All mappings of one name, at one scan of the resident pages."""

    time_ns: int
    name: str
    mappings: int
    mapped_bytes: int
    anonymous_bytes: int
    file_bytes: int
    swapped_bytes: int
