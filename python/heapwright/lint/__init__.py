# SPDX-License-Identifier: MIT
"""A recording and the sources → the expressions that allocate most, and how to avoid it."""
