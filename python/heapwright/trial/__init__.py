# SPDX-License-Identifier: MIT
"""A program, ways to run it → what each way changes, measured in turns."""
