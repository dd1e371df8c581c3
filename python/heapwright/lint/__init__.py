# SPDX-License-Identifier: MIT
"""A recording and the sources → the expressions that allocate most, and what would remove them."""
