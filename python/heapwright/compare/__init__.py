# SPDX-License-Identifier: MIT
"""Two sets of recordings → their differences, and how certain they are."""
