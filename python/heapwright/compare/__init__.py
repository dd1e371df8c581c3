# SPDX-License-Identifier: MIT
"""Two sides of recordings → what differs between them, and how sure that is."""
