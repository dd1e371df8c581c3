// SPDX-License-Identifier: MIT
#include "analyze/heap_parts.hpp"

#include <algorithm>
#include <utility>

#include "analyze/mmap_threshold.hpp"

namespace heapwright::analyze {
namespace {

// Arenas other than the main heap consist of heaps of this size, aligned to it.
constexpr std::uint64_t arena_heap_bytes = std::uint64_t{64} << 20;
// Slabs that allocators with size classes cut into blocks of one size are mostly no larger.
constexpr std::uint64_t slab_bytes = std::uint64_t{64} << 10;
constexpr std::uint64_t main_key = 0;
constexpr std::uint64_t mapped_key = 1;
constexpr std::uint64_t heap_key = 2;
constexpr std::size_t most_holders = 8;

bool is_given_back_at_its_end(PartKind kind) noexcept {
  return kind == PartKind::main_heap || kind == PartKind::arena;
}

}  // namespace

const char* name_of(PartKind kind) noexcept {
  switch (kind) {
    case PartKind::main_heap:
      return "main heap";
    case PartKind::arena:
      return "arena";
    case PartKind::mapped_blocks:
      return "mapped blocks";
    case PartKind::heap:
      break;
  }
  return "heap";
}

HeapParts::HeapParts(const std::vector<trace::Mapping>& mappings, const SiteMap& sites, bool is_glibc)
    : sites_(&sites), is_glibc_(is_glibc) {
  // A mapping is split where advice on huge pages covers a part of it.
  for (const auto& mapping : mappings) {
    if (mapping.name == "[heap]") {
      main_begin_ = main_end_ == 0 ? mapping.begin : std::min(main_begin_, mapping.begin);
      main_end_ = std::max(main_end_, mapping.end);
    }
  }
}

bool HeapParts::is_mapped(const LiveBlock& block) const noexcept {
  return is_glibc_ && MmapThreshold::is_mapped_apart(block.usable);
}

HeapParts::Part& HeapParts::part_at(std::uint64_t address, bool is_mapped) {
  auto key = heap_key;
  auto kind = PartKind::heap;
  // Other allocators use brk as well, and do not trim its end.
  if (is_glibc_ && address >= main_begin_ && address < main_end_) {
    key = main_key;
    kind = PartKind::main_heap;
  } else if (is_mapped) {
    key = mapped_key;
    kind = PartKind::mapped_blocks;
  } else if (is_glibc_) {
    key = std::max(address & ~(arena_heap_bytes - 1), heap_key);
    kind = PartKind::arena;
  }
  if (key != last_key_) {
    auto& part = parts_[key];
    part.kind = kind;
    if (part.sums.address == 0) part.sums.address = kind == PartKind::arena ? key : address;
    last_key_ = key;
    last_part_ = &part;
  }
  return *last_part_;
}

void HeapParts::add_use(const PageUse& use) {
  for (auto begin = use.begin; begin < use.end;) {
    // A run may extend over two arenas.
    const auto end = std::min(use.end, (begin & ~(arena_heap_bytes - 1)) + arena_heap_bytes);
    auto& part = part_at(begin, use.is_mapped);
    part.free_bytes += end - begin - use.used_bytes;
    if (use.used_bytes != 0) {
      part.sums.used_bytes += use.used_bytes;
      part.sums.partly_free_bytes += end - begin - use.used_bytes;
    }
    begin = end;
  }
}

void HeapParts::add_window(std::span<const PageUse> uses, std::span<const LiveBlock> blocks) {
  auto use = uses.begin();
  for (const auto& block : blocks) {
    for (; use != uses.end() && use->begin < block.end(); ++use) {
      add_use(*use);
    }
    auto& part = part_at(block.address, is_mapped(block));
    ++part.sums.blocks;
    part.free_at_last_block = part.free_bytes;
    if (is_given_back_at_its_end(part.kind)) {
      auto& last = part.last_of_site[sites_->site_of(block.stack)];
      ++last.blocks;
      last.free_below = part.free_bytes;
    }
  }
  for (; use != uses.end(); ++use) {
    add_use(*use);
  }
}

void HeapParts::settle_empty(std::uint64_t address, const Empty& empty) {
  auto& sums = part_at(address, false).sums;
  sums.free_page_bytes += empty.free_bytes;
  sums.short_free_bytes += empty.gap_bytes < slab_bytes ? empty.free_bytes : 0;
  sums.large_free_bytes += empty.large_bytes;
  sums.allocator_bytes += empty.allocator_bytes;
}

// The holders, from the end: without the first n sites, the last block belongs to the site after them.
std::vector<PartHolder> HeapParts::holders_of(const Part& part) const {
  std::vector<std::pair<std::uint32_t, Last>> order(part.last_of_site.begin(), part.last_of_site.end());
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second.free_below != b.second.free_below ? a.second.free_below > b.second.free_below
                                                      : a.first < b.first;
  });
  std::vector<PartHolder> holders;
  for (std::size_t index = 0; index < std::min(order.size(), most_holders); ++index) {
    const auto stays = index + 1 < order.size() ? order[index + 1].second.free_below : 0;
    holders.push_back({0, 0, order[index].first, order[index].second.blocks, part.free_bytes - stays});
  }
  return holders;
}

std::unordered_map<std::uint32_t, std::uint64_t> HeapParts::held_bytes() const {
  std::unordered_map<std::uint32_t, std::uint64_t> held;
  for (const auto& entry : parts_) {
    const auto& part = entry.second;
    std::uint64_t below_second = 0;
    std::uint64_t below_first = 0;
    std::uint32_t site = 0;
    for (const auto& [number, last] : part.last_of_site) {
      if (last.free_below >= below_first) {
        below_second = std::exchange(below_first, last.free_below);
        site = number;
      } else {
        below_second = std::max(below_second, last.free_below);
      }
    }
    if (below_first != below_second) held[site] += below_first - below_second;
  }
  return held;
}

std::vector<HeapParts::Row> HeapParts::finish() const {
  std::vector<Row> rows;
  for (const auto& entry : parts_) {
    const auto& part = entry.second;
    Row row{part.sums, part.kind, {}};
    auto& sums = row.part;
    // Empty pages that turned out not to be the heap's are in no sum.
    const auto empty = sums.free_page_bytes + sums.allocator_bytes;
    sums.resident_bytes = sums.used_bytes + sums.partly_free_bytes + empty;
    if (is_given_back_at_its_end(part.kind)) {
      sums.above_last_bytes = std::min(part.free_bytes - part.free_at_last_block, empty);
      row.holders = holders_of(part);
    }
    if (sums.blocks != 0 || sums.free_page_bytes != 0) rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.part.partly_free_bytes + a.part.free_page_bytes >
           b.part.partly_free_bytes + b.part.free_page_bytes;
  });
  return rows;
}

}  // namespace heapwright::analyze
