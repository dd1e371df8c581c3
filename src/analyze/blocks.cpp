// SPDX-License-Identifier: MIT
#include "analyze/blocks.hpp"

#include <sys/mman.h>

#include <bit>
#include <new>
#include <utility>

namespace heapwright::analyze {
namespace {

constexpr std::size_t first_slots = std::size_t{1} << 14;
constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;
// Small tables stay half empty for short probes; larger ones fill further,
// because a page touched for the first time costs more than the probes.
constexpr std::size_t large_table_slots = std::size_t{1} << 16;

std::size_t fill_limit(std::size_t slots) { return slots >= large_table_slots ? slots / 4 * 3 : slots / 2; }

}  // namespace

Blocks::Blocks() : slots_(make_slots(first_slots)), mask_(first_slots - 1) {
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(first_slots));
  limit_ = fill_limit(first_slots);
}

// From the kernel and not from malloc: its pages are zero already, and
// clearing them again would touch all of them.
Blocks::Slots Blocks::make_slots(std::size_t count) {
  const auto bytes = count * sizeof(Slot);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  if (bytes >= huge_page_bytes) {
    // Random access over many megabytes: without huge pages each lookup
    // pays a page walk as well. A refusal costs only speed.
    madvise(memory, bytes, MADV_HUGEPAGE);
  }
  return Slots(static_cast<Slot*>(memory), Release{bytes});
}

void Blocks::Release::operator()(Slot* memory) const noexcept { munmap(memory, bytes); }

Slot& Blocks::claim_free(Slot& slot, std::uint64_t address) {
  if (used_ >= limit_) {
    rebuild();
    return claim(address);
  }
  ++used_;
  slot.address = address;
  slot.flags = 0;
  return slot;
}

void Blocks::rebuild() {
  std::size_t live = 0;
  for_each_live([&live](const Slot&) { ++live; });
  const auto old_count = mask_ + 1;
  // Grow unless at least half of what filled the table is dead.
  const auto count = live > limit_ / 2 ? old_count * 2 : old_count;
  const auto old = std::exchange(slots_, make_slots(count));
  mask_ = count - 1;
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(count));
  limit_ = fill_limit(count);
  used_ = live;
  for (std::size_t index = 0; index < old_count; ++index) {
    const auto& from = old.get()[index];
    if (from.address == 0 || (from.flags & slot_live) == 0) {
      continue;
    }
    auto to = home_of(from.address);
    while (slots_.get()[to].address != 0) {
      to = (to + 1) & mask_;
    }
    slots_.get()[to] = from;
  }
}

std::uint32_t Blocks::add_wide(const WideBlock& block) {
  if (!spare_wide_.empty()) {
    const auto index = spare_wide_.back();
    spare_wide_.pop_back();
    wide_[index] = block;
    return index;
  }
  wide_.push_back(block);
  return static_cast<std::uint32_t>(wide_.size() - 1);
}

}  // namespace heapwright::analyze
