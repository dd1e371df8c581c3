# SPDX-License-Identifier: MIT
"""Errors that the user can fix."""


class InputError(Exception):
    """An error that the user can fix; the text is one line that says how."""
