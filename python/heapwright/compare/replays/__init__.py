# SPDX-License-Identifier: MIT
"""Two outputs of heapwright replay --json → their differences, candidate by candidate."""
