# SPDX-License-Identifier: MIT
"""Which blocks of the C library are mapped separately, by their usable sizes."""

from heapwright.model import SiteFacts

# A block in a heap is usable up to the next 16 bytes, a separately mapped one to the end of its last page.
_MOST_ROUNDING_BYTES = 64


def are_mapped(site: SiteFacts) -> bool:
    """Whether blocks of the site are; also False if unknown, as their sizes just fill pages."""
    return site.overhead_bytes > _MOST_ROUNDING_BYTES * site.allocations
