# SPDX-License-Identifier: MIT
"""Figures and names as lines that fit a terminal, whatever it can show."""
