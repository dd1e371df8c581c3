# SPDX-License-Identifier: MIT
"""Two documents of heapwright replay --json → what differs between them, candidate by candidate."""
