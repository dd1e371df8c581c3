# SPDX-License-Identifier: MIT
"""Programs measured under allocators: runs in turns, the noise of them, the machine, the results."""
