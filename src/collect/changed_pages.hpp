// SPDX-License-Identifier: MIT
// Which pages of a process were written to since a moment: the kernel's soft-dirty bits, which only some
// kernels have (CONFIG_MEM_SOFT_DIRTY). Everybody who uses them shares them, such as CRIU's dumps in steps.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tracee/word_copy.hpp"

namespace heapwright::collect {

// By address, disjoint, of whole pages.
using PageRanges = std::vector<tracee::WordCopy::Range>;

// What is in both.
PageRanges common(const PageRanges& a, const PageRanges& b);
// What is only in the first.
PageRanges without(const PageRanges& a, const PageRanges& b);

// Tried once with memory of our own.
bool can_tell_changed_pages();
// From now on writes to pages of this process are noted; each page's first one takes a microsecond longer.
// False: it is not allowed. `folder` in /proc.
bool note_changed_pages(const std::string& folder);
// The pages of `memory` that have not been written to since. Other processes' writes to shared memory are not
// noted. None: they cannot be read.
PageRanges unchanged_pages(const std::string& folder, const PageRanges& memory);

}  // namespace heapwright::collect
