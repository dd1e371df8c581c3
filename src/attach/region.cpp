// SPDX-License-Identifier: MIT
#include "attach/region.hpp"

#include <unistd.h>

#include <algorithm>

#include "attach/process_links.hpp"

namespace heapwright::attach {
namespace {

constexpr std::array<char, 16> magic{'h', 'e', 'a', 'p', 'w', 'r', 'i', 'g',
                                     'h', 't', ' ', 'p', 'a', 't', 'c', 'h'};
bool is_patched(const TargetMemory& memory, const FoundRegion& region, const Slot& slot) {
  std::array<std::uint8_t, jump_bytes> now{};
  if (!memory.read(slot.function, now.data(), now.size())) return false;
  const std::uint64_t target = jump_target(now, slot.function);
  // A function may begin with a jump of its own, and its target lie just behind the region.
  return target - region.base < region.code_bytes;
}

}  // namespace

RegionHead make_head(const AgentImage& image) {
  return {.magic = magic,
          .version = region_version,
          .agent_checksum = image.checksum(),
          .slots = 0,
          .tracer_process = static_cast<std::uint64_t>(getpid()),
          .tracer_start_ticks = start_ticks_of(getpid()),
          .kind = image.kind(),
          .threads_offset = static_cast<std::uint32_t>(slots_bytes + image.threads_offset())};
}

RegionHead make_annex_head(const AgentImage& image) {
  RegionHead head = make_head(image);
  head.threads_offset = 0;
  return head;
}

std::vector<FoundRegion> find_regions(const TargetMemory& memory, const std::vector<Mapping>& maps) {
  std::vector<FoundRegion> found;
  for (const Mapping& mapping : maps) {
    if (mapping.permissions != "r-xp" || !mapping.name.empty()) continue;
    FoundRegion region{.base = mapping.begin,
                       .head = memory.value_at<RegionHead>(mapping.begin),
                       .slots = {},
                       .code_bytes = mapping.end - mapping.begin};
    if (region.head.magic != magic || region.head.version != region_version) continue;
    const auto count = std::min<std::uint64_t>(region.head.slots, max_slots);
    for (std::uint64_t index = 0; index < count; ++index) {
      region.slots.push_back(memory.value_at<Slot>(region.base + (index + 1) * sizeof(Slot)));
    }
    found.push_back(std::move(region));
  }
  return found;
}

bool is_in_use(const TargetMemory& memory, const FoundRegion& region) {
  if (memory.value_at<std::uint64_t>(region.base + region.head.threads_offset) == 0) return false;
  return std::any_of(region.slots.begin(), region.slots.end(),
                     [&](const Slot& slot) { return is_patched(memory, region, slot); });
}

const Slot* find_patch(const TargetMemory& memory, const FoundRegion& region, std::uint64_t function) {
  for (const Slot& slot : region.slots) {
    if (slot.function == function && is_patched(memory, region, slot)) return &slot;
  }
  return nullptr;
}

bool restore(const TargetMemory& memory, const FoundRegion& region) {
  bool is_whole = true;
  for (const Slot& slot : region.slots) {
    if (!is_patched(memory, region, slot)) continue;
    is_whole = memory.write(slot.function, slot.original.data(), slot.original.size()) && is_whole;
  }
  return is_whole;
}

}  // namespace heapwright::attach
