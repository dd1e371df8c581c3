# SPDX-License-Identifier: MIT
"""The structs of src/analyze/facts/mappings.hpp, where their fields are explained.

Written by src/python_module/fields.py at each build, not by hand.
"""

# Annotations are values here: values.py reads the rows by them.

from typing import NamedTuple


class MappingSite(NamedTuple):
    """Memory that the program mapped itself, by the site of the mmap, mremap or sbrk. Mapped does
    not mean resident. mremap ends the old mapping and makes a new one. Lengths are whole pages.
    Older traces do not say what is file-backed or reserved.
    """

    site: int
    calls: int
    bytes: int
    of_files_bytes: int
    unmapped_bytes: int
    given_back_bytes: int
    at_end_bytes: int
    reserved_at_end_bytes: int


class OwnMoment(NamedTuple):
    """What was resident of all mappings of one such site, at one of up to 128 scans that are spread
    over the run. Mappings that hold blocks are left out: they are a heap's.
    """

    time_ns: int
    site: int
    bytes: int
