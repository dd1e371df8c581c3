// SPDX-License-Identifier: MIT
#include "analyze/nested.hpp"

#include <algorithm>
#include <unordered_map>

namespace heapwright::analyze {

NestedStacks nested_stacks(std::span<const std::uint32_t> parents, std::span<const std::uint32_t> frames,
                           std::span<const NestedFrame> kinds) {
  const auto count = std::min(parents.size(), frames.size());
  NestedStacks found{std::vector<std::uint32_t>(count), {}, {}};
  auto& functions = found.function_of_stack;
  std::vector<bool> is_site_elsewhere(kinds.size());  // by frame
  std::vector<std::uint32_t> groups(count);           // of the nearest function, unless a site is nearer
  for (std::uint32_t stack = 1; stack < count; ++stack) {
    const auto parent = parents[stack] < stack ? parents[stack] : 0;
    const NestedFrame kind = frames[stack] < kinds.size() ? kinds[frames[stack]] : NestedFrame{};
    functions[stack] = functions[parent];
    groups[stack] = groups[parent];
    if (kind.function != 0) {
      functions[stack] = kind.is_site != 0 || functions[parent] == 0 ? kind.function : functions[parent];
      groups[stack] = kind.group != 0 ? kind.group : groups[parent];
    } else if (kind.is_site != 0 && kind.group != 0 && kind.group == groups[parent]) {
      found.own_stacks.push_back(stack);
    } else if (kind.is_site != 0) {
      functions[stack] = groups[stack] = 0;
      is_site_elsewhere[frames[stack]] = true;
    }
  }
  std::erase_if(found.own_stacks, [&](std::uint32_t stack) {
    const bool is_always = !is_site_elsewhere[frames[stack]];
    if (is_always) {
      found.own_frames.push_back(frames[stack]);
    }
    return is_always;
  });
  std::sort(found.own_frames.begin(), found.own_frames.end());
  found.own_frames.erase(std::unique(found.own_frames.begin(), found.own_frames.end()),
                         found.own_frames.end());
  return found;
}

std::vector<Passage> passages(std::span<const std::uint32_t> site_of_stack,
                              std::span<const std::uint32_t> function_of_stack,
                              std::span<const std::uint64_t> allocations) {
  const auto count = std::min({site_of_stack.size(), function_of_stack.size(), allocations.size()});
  std::unordered_map<std::uint64_t, Passage> by_pair;
  for (std::size_t stack = 0; stack < count; ++stack) {
    const auto site = site_of_stack[stack];
    const auto function = function_of_stack[stack];
    auto& passage = by_pair.try_emplace(std::uint64_t{site} << 32 | function, Passage{site, function, 0, 0})
                        .first->second;
    passage.allocations += allocations[stack];
    passage.stacks += allocations[stack] == 0 ? 1 : 0;
  }
  std::vector<Passage> found;
  found.reserve(by_pair.size());
  for (const auto& [pair, passage] : by_pair) {
    found.push_back(passage);
  }
  std::sort(found.begin(), found.end(), [](const Passage& one, const Passage& other) {
    return one.site != other.site ? one.site < other.site : one.function < other.function;
  });
  return found;
}

}  // namespace heapwright::analyze
