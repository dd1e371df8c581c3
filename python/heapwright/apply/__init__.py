# SPDX-License-Identifier: MIT
"""From a recording and call sites to the file that libheapwright-apply.so reads (docs/apply.md)."""
