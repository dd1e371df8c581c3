// SPDX-License-Identifier: MIT
#include "analyze/blocks_over_time.hpp"

#include <algorithm>

namespace heapwright::analyze {
namespace {

// Changes of larger blocks are checked for every range.
constexpr std::uint64_t large_bytes = std::uint64_t{256} << 10;

constexpr unsigned born_shift = 20;

bool overlaps(const LiveBlock& block, std::uint64_t begin, std::uint64_t end) noexcept {
  return block.address < end && block.end() > begin;
}

}  // namespace

void BlocksOverTime::clear() {
  blocks_.clear();
  wide_.clear();
  changes_.clear();
  large_.clear();
}

void BlocksOverTime::add(const LiveBlock& block) {
  const auto excess = block.usable - block.size;
  const bool is_wide = block.size > UINT32_MAX || excess > UINT16_MAX;
  blocks_.push_back({block.address, static_cast<std::uint32_t>(is_wide ? wide_.size() : block.size),
                     block.stack, static_cast<std::uint32_t>(block.born_ns >> born_shift),
                     static_cast<std::uint16_t>(excess), is_wide});
  if (is_wide) wide_.push_back(block);
}

LiveBlock BlocksOverTime::block_of(const Kept& kept) const noexcept {
  if (kept.is_wide) return wide_[kept.size];
  return {kept.address, kept.size, std::uint64_t{kept.size} + kept.excess, kept.stack,
          std::uint64_t{kept.born} << born_shift};
}

void BlocksOverTime::sort() {
  std::sort(blocks_.begin(), blocks_.end(),
            [](const Kept& a, const Kept& b) { return a.address < b.address; });
  std::stable_sort(changes_.begin(), changes_.end(), [](const BlockChange& a, const BlockChange& b) {
    return a.block.address < b.block.address;
  });
  for (const auto& change : changes_) {
    const auto address = change.block.address;
    if (change.block.usable > large_bytes && (large_.empty() || large_.back() != address)) {
      large_.push_back(address);
    }
  }
}

std::size_t BlocksOverTime::first_change(std::uint64_t address) const {
  const auto found =
      std::lower_bound(changes_.begin(), changes_.end(), address,
                       [](const BlockChange& change, std::uint64_t at) { return change.block.address < at; });
  return static_cast<std::size_t>(found - changes_.begin());
}

BlocksOverTime::Changes BlocksOverTime::changes_at(std::uint64_t address) const {
  const auto first = first_change(address);
  auto last = first;
  while (last < changes_.size() && changes_[last].block.address == address) {
    ++last;
  }
  return Changes(changes_).subspan(first, last - first);
}

// Calls visit(changes of one address), each address once.
template <typename Visit>
void BlocksOverTime::visit_changed(std::uint64_t begin, std::uint64_t end, Visit visit) const {
  const auto near = begin > large_bytes ? begin - large_bytes : 0;
  for (auto index = first_change(near); index < changes_.size() && changes_[index].block.address < end;) {
    const auto changes = changes_at(changes_[index].block.address);
    visit(changes);
    index += changes.size();
  }
  for (const auto address : large_) {
    if (address >= near) {
      break;
    }
    visit(changes_at(address));
  }
}

void BlocksOverTime::live_in(std::uint64_t begin, std::uint64_t end, std::uint64_t time_ns,
                             std::vector<LiveBlock>& result) const {
  result.clear();
  const auto is_changed = [&](std::uint64_t address) {
    const auto changes = changes_at(address);
    return !changes.empty() && changes.front().time_ns <= time_ns;
  };
  auto block = std::lower_bound(blocks_.begin(), blocks_.end(), begin,
                                [](const Kept& at, std::uint64_t from) { return at.address < from; });
  // Live blocks do not overlap: only the previous one can reach in.
  if (block != blocks_.begin()) {
    --block;
  }
  for (; block != blocks_.end() && block->address < end; ++block) {
    const auto whole = block_of(*block);
    if (overlaps(whole, begin, end) && !is_changed(block->address)) {
      result.push_back(whole);
    }
  }
  const auto unchanged = result.size();
  visit_changed(begin, end, [&](Changes changes) {
    const BlockChange* last = nullptr;
    for (const auto& change : changes) {
      if (change.time_ns <= time_ns) {
        last = &change;
      }
    }
    if (last != nullptr && last->is_alive && overlaps(last->block, begin, end)) {
      result.push_back(last->block);
    }
  });
  if (result.size() != unchanged) {
    std::sort(result.begin(), result.end(),
              [](const LiveBlock& a, const LiveBlock& b) { return a.address < b.address; });
  }
}

std::uint64_t BlocksOverTime::usable_at(std::uint64_t address) const {
  const auto known =
      std::lower_bound(blocks_.begin(), blocks_.end(), address,
                       [](const Kept& at, std::uint64_t wanted) { return at.address < wanted; });
  return known != blocks_.end() && known->address == address ? block_of(*known).usable : 0;
}

std::uint64_t BlocksOverTime::uncertain_bytes(std::uint64_t begin, std::uint64_t end, std::uint64_t from_ns,
                                              std::uint64_t to_ns) const {
  std::uint64_t bytes = 0;
  visit_changed(begin, end, [&](Changes changes) {
    std::uint64_t most = 0;
    for (const auto& change : changes) {
      if (change.call_begin_ns > to_ns || change.call_end_ns < from_ns) continue;
      auto block = change.block;
      if (!change.is_alive) block.usable = usable_at(block.address);
      if (overlaps(block, begin, end)) {
        most = std::max(most, std::min(block.end(), end) - std::max(block.address, begin));
      }
    }
    bytes += most;
  });
  return bytes;
}

}  // namespace heapwright::analyze
