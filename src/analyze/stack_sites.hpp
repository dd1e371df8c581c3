// SPDX-License-Identifier: MIT
// The steps of grouping stacks into sites that process every stack: a stack gets the path of its innermost
// frame that has one, and used paths get numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heapwright::analyze {

// The path of each stack: its frame's, or else its caller's; 0 if no frame has one. parents and frames: for
// each stack, which comes after its parent; stack 0 is empty. path_of_frame: 0 for a frame without one;
// frames beyond its end have none.
std::vector<std::uint32_t> innermost_paths(std::span<const std::uint32_t> parents,
                                           std::span<const std::uint32_t> frames,
                                           std::span<const std::uint32_t> path_of_frame);

struct NumberedSites {
  std::vector<std::uint32_t> site_of_stack;
  std::vector<std::uint32_t> first_stack;  // by site
};

// One site for each path, numbered in order of first occurrence. Paths have dense numbers.
NumberedSites number_sites(std::span<const std::uint32_t> path_of_stack);

}  // namespace heapwright::analyze
