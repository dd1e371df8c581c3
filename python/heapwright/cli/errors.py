# SPDX-License-Identifier: MIT
"""What a user can put right."""


class InputError(Exception):
    """Something the user can put right; the text is one line that says how."""
