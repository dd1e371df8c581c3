# SPDX-License-Identifier: MIT
"""Measures programs under allocators: alternating runs, their noise, the machine, the results."""
