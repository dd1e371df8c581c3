# SPDX-License-Identifier: MIT
"""Replays a recording's heap calls on other allocators and settings: their cost, and its certainty."""
