# SPDX-License-Identifier: MIT
"""A budget file and a recording → what is outside the budget, and where."""
