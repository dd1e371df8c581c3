// SPDX-License-Identifier: MIT
#include "heap/slabs/page_purge.hpp"

#include <algorithm>
#include <bit>

#include "heap/base/counting.hpp"
#include "heap/base/system_pages.hpp"
#include "heap/slabs/misuse.hpp"
#include "heap/slabs/mixed_slab.hpp"
#include "heap/slabs/slab.hpp"

namespace heapwright::heap {

namespace {

// Calls visit(word, mask) for each word with bits of [begin, end); returns false as soon as it does.
bool for_each_word(std::uint32_t begin, std::uint32_t end, auto visit) noexcept {
  while (begin < end) {
    count_steps();
    const std::uint32_t in_word = std::min(end - begin, 64 - begin % 64);
    const std::uint64_t mask = (in_word == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << in_word) - 1)
                               << begin % 64;
    if (!visit(begin / 64, mask)) return false;
    begin += in_word;
  }
  return true;
}

// Whether every block that overlaps the page is free or dropped.
bool can_drop(const UnitLine* slab, const std::uint64_t* free, const std::uint64_t* dropped,
              std::size_t page_offset, std::size_t page_bytes) noexcept {
  const std::uint32_t first = block_index(slab->size_class, page_offset);
  const std::uint32_t last = block_index(slab->size_class, page_offset + page_bytes - 1);
  return for_each_word(
      first, std::min<std::uint32_t>(last + 1, slab->fresh),
      [&](std::uint32_t word, std::uint64_t mask) { return ((free[word] | dropped[word]) & mask) == mask; });
}

// Blocks that begin in a dropped page leave circulation.
std::uint32_t drop_blocks_of(const UnitLine* slab, std::uint64_t* free, std::uint64_t* dropped,
                             std::size_t page_offset, std::size_t page_bytes) noexcept {
  const std::size_t bytes = class_of_slab(slab).block_bytes;
  const auto first = static_cast<std::uint32_t>((page_offset + bytes - 1) / bytes);
  const auto end = static_cast<std::uint32_t>((page_offset + page_bytes + bytes - 1) / bytes);
  std::uint32_t count = 0;
  for_each_word(first, std::min<std::uint32_t>(end, slab->fresh),
                [&](std::uint32_t word, std::uint64_t mask) {
                  const std::uint64_t moved = free[word] & mask;
                  free[word] &= ~moved;
                  dropped[word] |= moved;
                  count += static_cast<std::uint32_t>(std::popcount(moved));
                  return true;
                });
  return count;
}

}  // namespace

// Later steps turn both lists into marks; their blocks end up in the slab's own list.
bool PagePurge::begin(UnitLine* slab, bool mixes) noexcept {
  map_ = slab->dropped != 0 ? map_of(slab) : take_map(slab);
  if (map_ == nullptr) return false;
  if (slab->dropped == 0) *map_ = DroppedMap{};
  slab_ = slab;
  listed_ = take_listed(slab);
  remote_ = take_remote(slab);
  std::fill_n(free_, slab_map_words, 0);
  page_ = 0;
  word_ = 0;
  dropped_bytes_ = 0;
  tail_ = nullptr;
  mixes_ = mixes;
  return true;
}

bool PagePurge::step() noexcept {
  std::uint32_t left = 512;
  const auto mark = [&](Chain* list) {
    const std::uint32_t before = list->count;
    mark_some(slab_, list, left, free_);
    left -= before - list->count;
  };
  if (listed_.count != 0) mark(&listed_);
  if (listed_.count == 0 && remote_.count != 0) mark(&remote_);
  if (listed_.count + remote_.count != 0) return true;
  if (mixes_) {
    if (left < 512) return true;  // mixing takes a step for each live block
    mix(slab_, map_, free_);
    slab_ = nullptr;
    return false;
  }
  const std::size_t used_bytes = slab_->fresh * std::size_t{class_of_slab(slab_).block_bytes};
  if (page_ < used_bytes) drop_some();
  if (page_ < used_bytes || !relist_some(left)) return true;
  end();
  return false;
}

// Drops pages of the next unit.
void PagePurge::drop_some() noexcept {
  const std::size_t page_bytes = system_page_bytes();
  const std::size_t used_bytes = slab_->fresh * std::size_t{class_of_slab(slab_).block_bytes};
  const std::size_t end = std::min(used_bytes, page_ / unit_bytes * unit_bytes + unit_bytes);
  std::size_t run_begin = page_;
  std::size_t run_bytes = 0;
  for (; page_ < end; page_ += page_bytes) {
    if (!can_drop(slab_, free_, map_->words, page_, page_bytes)) continue;
    const std::uint32_t count = drop_blocks_of(slab_, free_, map_->words, page_, page_bytes);
    map_->count += count;
    slab_->carved = static_cast<std::uint16_t>(slab_->carved - count);
    add_unlisted(slab_, -static_cast<std::int32_t>(count));
    if (run_begin + run_bytes != page_) {
      if (run_bytes != 0) drop_pages(begin_of_slab(slab_) + run_begin, run_bytes);
      run_begin = page_;
      run_bytes = 0;
    }
    run_bytes += page_bytes;
    dropped_bytes_ += page_bytes;
  }
  if (run_bytes != 0) drop_pages(begin_of_slab(slab_) + run_begin, run_bytes);
}

bool PagePurge::relist_some(std::uint32_t most) noexcept {
  const std::size_t bytes = class_of_slab(slab_).block_bytes;
  const std::uint32_t end = (slab_->fresh + 63U) / 64;
  for (std::uint32_t left = most; word_ < end && left > 64; ++word_) {
    left -= static_cast<std::uint32_t>(std::popcount(free_[word_])) + 1;
    for (std::uint64_t bits = free_[word_]; bits != 0; bits &= bits - 1) {
      count_steps();
      const std::size_t index = word_ * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
      auto* block = reinterpret_cast<Block*>(begin_of_slab(slab_) + index * bytes);
      block->set_next(nullptr);
      if (tail_ != nullptr) {
        tail_->set_next(block);
      } else {
        slab_->free_list = block;
      }
      tail_ = block;
      add_unlisted(slab_, -1);
    }
  }
  return word_ >= end;
}

void PagePurge::end() noexcept {
  map_->hint = 0;
  if (map_->count != 0) {
    slab_->dropped = number_of(map_);
  } else {
    slab_->dropped = 0;
    give_map(slab_, map_);
  }
  counters::add(counters_page->heap.purged_bytes, dropped_bytes_);
  slab_ = nullptr;
}

std::size_t drop_free_pages(UnitLine* slab) noexcept {
  PagePurge purge{};
  if (!purge.begin(slab)) return 0;
  while (purge.step()) {
  }
  return purge.dropped_bytes();
}

}  // namespace heapwright::heap
