// SPDX-License-Identifier: MIT
// Which stacks pass a nested allocator (palloc, a pool) between their site and malloc.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heapwright::analyze {

// Of a frame. function: of a nested allocator, by number; 0 = none. group: of the functions that have all
// else of their library below them for their own, and of the frames of that library; 0 = none. is_site: it
// also, or only, has code that counts as a call site, behind the function.
struct NestedFrame {
  std::uint32_t function;
  std::uint32_t group;
  std::uint32_t is_site;
};

// function_of_stack: the one that the site calls; 0 = none. own_frames: those that would be sites, but are
// an allocator's own wherever they occur. own_stacks: those whose innermost frame is its own here, but not
// elsewhere. Both ascending.
struct NestedStacks {
  std::vector<std::uint32_t> function_of_stack;
  std::vector<std::uint32_t> own_frames;
  std::vector<std::uint32_t> own_stacks;
};

// parents and frames: as for find_funnels. kinds: by frame; frames beyond its end have nothing. O(stacks).
NestedStacks nested_stacks(std::span<const std::uint32_t> parents, std::span<const std::uint32_t> frames,
                           std::span<const NestedFrame> kinds);

// What comes from a site through a function; function 0: directly. allocations: their sum; stacks: those
// without any.
struct Passage {
  std::uint32_t site;
  std::uint32_t function;
  std::uint64_t allocations;
  std::uint64_t stacks;
};

// One for each pair of a site and a function, in this order. All by stack; the shortest counts. O(stacks).
std::vector<Passage> passages(std::span<const std::uint32_t> site_of_stack,
                              std::span<const std::uint32_t> function_of_stack,
                              std::span<const std::uint64_t> allocations);

}  // namespace heapwright::analyze
