# SPDX-License-Identifier: MIT
"""Facts of many recordings, and questions about all of them."""
