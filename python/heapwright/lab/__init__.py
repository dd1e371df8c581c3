# SPDX-License-Identifier: MIT
"""Experiments on any allocator: finds, runs, compares and draws them."""
