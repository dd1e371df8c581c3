# SPDX-License-Identifier: MIT
"""Which blocks of the C library have a mapping of their own, by their usable sizes."""

from heapwright.model import SiteFacts

# A block in a heap is usable up to the next 16 bytes; one with a mapping of its own to its last page's end.
_MOST_ROUNDING_BYTES = 64


def are_mapped(site: SiteFacts) -> bool:
    """Whether blocks of the site are; False also where it is not known, as their sizes just fill pages."""
    return site.overhead_bytes > _MOST_ROUNDING_BYTES * site.allocations
