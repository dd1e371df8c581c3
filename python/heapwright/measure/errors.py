# SPDX-License-Identifier: MIT
"""Errors for bad input, in one line that says what to do."""


class MeasureError(Exception):
    """The text is for the user; commands end with exit code 2."""
