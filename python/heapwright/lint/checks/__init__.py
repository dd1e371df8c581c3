# SPDX-License-Identifier: MIT
"""Checks that need no recording: few, and each exact by type."""
