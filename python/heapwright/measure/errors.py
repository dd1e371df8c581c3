# SPDX-License-Identifier: MIT
"""Bad input, as one line that says what to do."""


class MeasureError(Exception):
    """The text is for the user; commands end with exit code 2."""
