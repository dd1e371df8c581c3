// SPDX-License-Identifier: MIT
#include "analyze/stack_sites.hpp"

#include <algorithm>
#include <cstddef>

namespace heapwright::analyze {
namespace {

constexpr std::uint32_t no_site = UINT32_MAX;

}  // namespace

std::vector<std::uint32_t> innermost_paths(std::span<const std::uint32_t> parents,
                                           std::span<const std::uint32_t> frames,
                                           std::span<const std::uint32_t> path_of_frame) {
  std::vector<std::uint32_t> paths(frames.size());
  for (std::size_t stack = 1; stack < frames.size(); ++stack) {
    const auto frame = frames[stack];
    const auto own = frame < path_of_frame.size() ? path_of_frame[frame] : 0;
    const auto parent = stack < parents.size() && parents[stack] < stack ? parents[stack] : 0;
    paths[stack] = own != 0 ? own : paths[parent];
  }
  return paths;
}

NumberedSites number_sites(std::span<const std::uint32_t> path_of_stack) {
  NumberedSites numbered;
  numbered.site_of_stack.reserve(path_of_stack.size());
  const auto last_path =
      path_of_stack.empty() ? 0 : *std::max_element(path_of_stack.begin(), path_of_stack.end());
  std::vector<std::uint32_t> site_of_path(std::size_t{last_path} + 1, no_site);
  for (std::uint32_t stack = 0; stack < path_of_stack.size(); ++stack) {
    auto& site = site_of_path[path_of_stack[stack]];
    if (site == no_site) {
      site = static_cast<std::uint32_t>(numbered.first_stack.size());
      numbered.first_stack.push_back(stack);
    }
    numbered.site_of_stack.push_back(site);
  }
  return numbered;
}

}  // namespace heapwright::analyze
