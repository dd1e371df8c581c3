# SPDX-License-Identifier: MIT
"""A recording's heap calls on other allocators and settings: what they would take, and how sure that is."""
