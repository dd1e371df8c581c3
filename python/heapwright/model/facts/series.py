# SPDX-License-Identifier: MIT
"""The structs of src/analyze/facts/series.hpp, where their fields are explained.

Written by src/python_module/fields.py at each build, not by hand.
"""

# Annotations are values here: values.py reads the rows by them.

from typing import NamedTuple


class SeriesRow(NamedTuple):
    """A site whose series is known: from first_bin on; 0 = all of it."""

    site: int
    first_bin: int
