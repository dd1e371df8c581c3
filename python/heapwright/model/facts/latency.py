# SPDX-License-Identifier: MIT
"""The structs of src/analyze/facts/latency.hpp, where their fields are explained.

Written by src/python_module/fields.py at each build, not by hand.
"""

# Annotations are values here: values.py reads the rows by them.

from typing import NamedTuple


class Latency(NamedTuple):
    """Latency of the real calls. Percentiles are interpolated within a bucket (error at most 6.25
    %); max and sum are exact.
    """

    calls: int
    sum_ns: int
    max_ns: int
    p50_ns: int
    p90_ns: int
    p99_ns: int
    p999_ns: int
    p9999_ns: int
