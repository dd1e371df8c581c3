# SPDX-License-Identifier: MIT
"""The structs of src/analyze/facts/lifetimes.hpp, where their fields are explained.

Written by src/python_module/fields.py at each build, not by hand.
"""

# Annotations are values here: values.py reads the rows by them.

from typing import NamedTuple


class LifetimeMap(NamedTuple):
    """size x lifetime map. Rows: power-of-two size classes. Columns: decades of lifetime from <100
    ns to >=1000 s in half-decade steps; last column: still live at the end (censored).
    """

    size_from_bytes: tuple[int, ...]
    lifetime_from_ns: tuple[int, ...]
    blocks: tuple[int, ...]
    bytes: tuple[int, ...]
