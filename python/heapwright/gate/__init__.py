# SPDX-License-Identifier: MIT
"""A budget file and a recording → what is outside of its budget, and where."""
