// SPDX-License-Identifier: MIT
#include "replay/held_memory.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "figures/process_figures.hpp"
#include "figures/refusal.hpp"
#include "replay/json_series.hpp"

namespace heapwright::replay {
namespace {

using figures::page_bytes;

constexpr std::size_t window_operations = 16384;

// Which pages of this process are resident or swapped out: /proc/self/pagemap. Queried in rising order.
class PageMap {
 public:
  PageMap() : descriptor_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) figures::give_up("cannot read /proc/self/pagemap");
  }
  ~PageMap() { close(descriptor_); }
  PageMap(const PageMap&) = delete;
  PageMap& operator=(const PageMap&) = delete;

  bool is_resident(std::uintptr_t page) {
    constexpr std::uint64_t present_or_swapped = std::uint64_t{3} << 62U;
    if (page < first_ || page >= first_ + entries_.size()) read_from(page);
    return (entries_[page - first_] & present_or_swapped) != 0;
  }

 private:
  void read_from(std::uintptr_t page) {
    first_ = page;
    entries_ = {};
    const auto bytes = sizeof(entries_);
    // After the last mapping there is less to read.
    if (pread(descriptor_, entries_.data(), bytes, static_cast<off_t>(page * sizeof(entries_[0]))) < 0) {
      figures::give_up("cannot read /proc/self/pagemap");
    }
  }

  int descriptor_;
  std::uintptr_t first_ = 0;
  std::array<std::uint64_t, 512> entries_{};
};

// For a call that a change leaves out or serves, malloc_usable_size says nothing about the block's size.
std::uint64_t size_of(const Operation& operation, const Slot& slot) noexcept {
  const bool is_known = operation.kind != serve_nothing && operation.kind != serve_take;
  const std::uint64_t size = is_known ? operation.size : malloc_usable_size(slot.block);
  return std::max<std::uint64_t>(size, 1);
}

}  // namespace

HeldMemory::HeldMemory(Stage& stage)
    : blocks_(stage.plan().header().slots), stacks_(stage.plan().header().stacks) {
  for (std::uint32_t lane = 0; lane < stage.lane_count(); ++lane) find_blocks(stage, lane);
  std::sort(blocks_.begin(), blocks_.begin() + count_,
            [](const Block& a, const Block& b) { return a.begin < b.begin; });
  share_pages();
}

// The last operation on a slot so far is the one that leaves the slot's current generation.
void HeldMemory::find_blocks(Stage& stage, std::uint32_t lane) {
  const Lane& whole = stage.plan().lanes()[lane];
  const auto done = whole.count - stage.lane(lane).operations.left();
  figures::MappedArray<Operation> operations(window_operations);
  figures::MappedArray<std::uint32_t> stacks(window_operations);
  Stretch<Operation> next_operation;
  Stretch<std::uint32_t> next_stack;
  next_operation.open(stage.plan(), whole.offset, done, operations.begin(), window_operations);
  next_stack.open(stage.plan(), whole.stacks_offset, done, stacks.begin(), window_operations);
  while (!next_operation.is_at_end()) {
    const Operation& operation = next_operation.next();
    const auto stack = next_stack.next();
    if (operation.is_control() || has_no_block(operation)) continue;
    const Slot& slot = stage.slot_of(operation);
    if (slot.block == nullptr || slot.generation.load() != generation_after(operation)) continue;
    add(operation, stack, slot);
  }
}

void HeldMemory::add(const Operation& operation, std::uint32_t stack, const Slot& slot) {
  if (stack >= stacks_.size() || count_ == blocks_.size()) refuse_damaged();
  const auto begin = reinterpret_cast<std::uintptr_t>(slot.block);
  blocks_[count_++] = {begin, begin + size_of(operation, slot), stack};
  ++stacks_[stack].blocks;
}

void HeldMemory::share_pages() {
  PageMap map;
  std::uintptr_t page = 0;
  for (std::size_t first = 0; first < count_;) {
    page = std::max(page, blocks_[first].begin / page_bytes);
    first = share_page(page, first, map.is_resident(page));
    ++page;
  }
}

// The first block that ends after the page.
std::size_t HeldMemory::share_page(std::uintptr_t page, std::size_t first, bool is_resident) {
  const auto from = page * page_bytes;
  const auto to = from + page_bytes;
  const auto on_page = [&](const Block& block) {
    if (block.end <= from) return 0.0;
    return static_cast<double>(std::min(block.end, to) - std::max(block.begin, from));
  };
  double all = 0;
  std::size_t end = first;
  for (; end < count_ && blocks_[end].begin < to; ++end) all += on_page(blocks_[end]);
  for (auto at = first; is_resident && all > 0 && at < end; ++at) {
    stacks_[blocks_[at].stack].bytes += static_cast<double>(page_bytes) * on_page(blocks_[at]) / all;
  }
  return end > first && blocks_[end - 1].end > to ? end - 1 : end;
}

std::string HeldMemory::json(std::uint64_t resident_bytes) const {
  std::vector<std::uint32_t> held;
  for (std::uint32_t stack = 0; stack < stacks_.size(); ++stack) {
    if (stacks_[stack].blocks > 0) held.push_back(stack);
  }
  std::string json = "{";
  put_series(json, "stacks", held, [](auto stack) { return stack; });
  put_series(json, "stack_blocks", held, [&](auto stack) { return stacks_[stack].blocks; });
  put_series(json, "stack_bytes", held, [&](auto stack) { return std::llround(stacks_[stack].bytes); });
  return json + "\"resident_bytes\":" + std::to_string(resident_bytes) + "}\n";
}

}  // namespace heapwright::replay
