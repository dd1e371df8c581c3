// SPDX-License-Identifier: MIT
#include "heap/slabs/slab.hpp"

#include <algorithm>

#include "heap/base/counting.hpp"
#include "heap/pages/guards.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/slabs/dropped_blocks.hpp"
#include "heap/slabs/misuse.hpp"

namespace heapwright::heap {

UnitLine* open_slab(Run run, std::uint32_t size_class, std::uint32_t units, ThreadCache* owner) noexcept {
  UnitLine* slab = line_of(run.unit);
  for (std::uint32_t i = 1; i < units; ++i) {
    count_steps();
    UnitLine* rest = line_of(run.unit + i);
    rest->owner.store(nullptr, std::memory_order_relaxed);
    rest->kind = UnitKind::slab_rest;
    rest->units = i;
  }
  slab->free_list = nullptr;
  slab->freed = 0;
  slab->rest = 0;
  slab->taken = 0;
  slab->remote.store(0, std::memory_order_relaxed);
  slab->carved = 0;
  slab->counted = 0;
  slab->size_class = static_cast<std::uint16_t>(size_class);
  slab->flags = run.is_zeroed ? is_zeroed : 0;
  slab->units = units;
  slab->fresh = 0;
  slab->dropped = 0;
  slab->next = 0;
  slab->prev = 0;
  slab->second_next = 0;
  slab->kind = UnitKind::slab;
  slab->owner.store(owner, std::memory_order_release);
  return slab;
}

namespace {

Chain remote_list(const UnitLine* slab, RemoteWord word) noexcept {
  if (!word.has_blocks()) return {nullptr, 0};
  return {reinterpret_cast<Block*>(begin_of_slab(slab) + word.head_offset()), word.count()};
}

}  // namespace

void close_slab(UnitLine* slab) noexcept {
  const std::uint32_t unit = unit_of(slab);
  const std::uint32_t units = slab->units;
  check_list(slab, {slab->free_list, listed_count(slab)}, 1);
  check_list(slab, remote_list(slab, remote_of(slab)), 1);
  if (slab->dropped != 0) free_dropped_map(slab);
  slab->owner.store(nullptr, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < units; ++i) {
    count_steps();
    line_of(unit + i)->kind = UnitKind::inside;
  }
  if (has_flag(slab, is_guarded)) return free_guarded_run(unit - 1, units + 1);
  const bool was_clean = has_flag(slab, is_zeroed);
  if (units == 1 && slab->fresh != 0) {
    return free_unit_of_slab({unit, was_clean}, used_bytes(slab), slab->size_class);
  }
  free_run(unit, units, slab->fresh != 0 || !was_clean);
}

Chain take_listed(UnitLine* slab) noexcept {
  const Chain taken{slab->free_list, listed_count(slab)};
  check_list(slab, taken);
  slab->free_list = nullptr;
  add_unlisted(slab, static_cast<std::int32_t>(taken.count));
  return taken;
}

Chain take_remote(UnitLine* slab) noexcept {
  RemoteWord word = remote_of(slab);
  if (!word.has_blocks()) return {nullptr, 0};
  while (!slab->remote.compare_exchange_weak(word.bits, word.emptied().bits, std::memory_order_acq_rel)) {
    count_steps();
  }
  const Chain taken = remote_list(slab, word);
  check_list(slab, taken);
  return taken;
}

bool put_remote(UnitLine* slab, const Chain& chain) noexcept {
  RemoteWord word = remote_of(slab);
  const auto offset = reinterpret_cast<char*>(chain.first) - begin_of_slab(slab);
  do {
    count_steps();
    if (word.has_blocks()) return false;
  } while (!slab->remote.compare_exchange_weak(
      word.bits, word.filled(static_cast<std::size_t>(offset), chain.count).bits, std::memory_order_acq_rel));
  return true;
}

Chain carve(UnitLine* slab) noexcept {
  if (slab->dropped != 0) return carve_dropped(slab);
  const SizeClass& described = class_of_slab(slab);
  const std::size_t bytes = described.block_bytes;
  const std::size_t offset = slab->fresh * bytes;
  // Blocks up to the end of the page that contains `offset`. The first block that begins in
  // a page is carved alone, so that its user takes the page fault.
  const std::size_t page_end = offset / carve_bytes * carve_bytes + carve_bytes;
  std::uint32_t count = 1;
  if (carves_touched_page(slab)) count = static_cast<std::uint32_t>((page_end - offset + bytes - 1) / bytes);
  count = std::min<std::uint32_t>(count, capacity_of_slab(slab) - slab->fresh);
  char* memory = begin_of_slab(slab) + offset;
  auto* first = reinterpret_cast<Block*>(memory);
  for (std::uint32_t i = 1; i < count; ++i) {
    count_steps();
    auto* following = reinterpret_cast<Block*>(memory + bytes);
    reinterpret_cast<Block*>(memory)->set_next(following);
    memory += bytes;
  }
  if (count > 1) reinterpret_cast<Block*>(memory)->set_next(nullptr);
  slab->fresh = static_cast<std::uint16_t>(slab->fresh + count);
  slab->carved = static_cast<std::uint16_t>(slab->carved + count);
  add_unlisted(slab, static_cast<std::int32_t>(count));
  return {first, count};
}

void schedule_event(UnitLine* slab, std::uint32_t detached) noexcept {
  const std::uint32_t unlisted = unlisted_count(slab);
  const std::uint32_t listed = slab->carved - unlisted;
  // One more free than there are blocks: only a double free triggers that event.
  std::uint32_t wait = unlisted + 1;
  if (!has_flag(slab, is_kept)) {
    std::uint32_t next = std::max<std::uint32_t>(1, slab->carved / 8);
    if (has_flag(slab, is_listed)) next = slab->carved - sparse_limit(slab);
    const std::uint32_t most = std::max<std::uint32_t>(1, unlisted - detached);
    wait = listed < next ? std::min(next - listed, most) : most;
  }
  slab->set_countdown(wait);
  slab->rest = static_cast<std::int16_t>(unlisted - wait);
}

bool watch(UnitLine* slab, std::uint32_t count) noexcept {
  RemoteWord word = remote_of(slab);
  do {
    count_steps();
    if (word.count() >= count) return false;
  } while (
      !slab->remote.compare_exchange_weak(word.bits, word.armed_for(count).bits, std::memory_order_acq_rel));
  set_flag(slab, is_watched);
  return true;
}

Watch rewatch(UnitLine* slab, std::uint32_t count) noexcept {
  RemoteWord word = remote_of(slab);
  do {
    count_steps();
    if (has_flag(slab, is_watched) && !word.is_armed()) return Watch::notified;
    if (word.count() >= count) return Watch::reached;
    if (word.bits == word.armed_for(count).bits && has_flag(slab, is_watched)) return Watch::armed;
  } while (
      !slab->remote.compare_exchange_weak(word.bits, word.armed_for(count).bits, std::memory_order_acq_rel));
  set_flag(slab, is_watched);
  return Watch::armed;
}

bool unwatch(UnitLine* slab) noexcept {
  if (!has_flag(slab, is_watched)) return true;
  const RemoteWord before{slab->remote.fetch_and(~RemoteWord::armed_bit, std::memory_order_acq_rel)};
  if (!before.is_armed()) return false;
  clear_flag(slab, is_watched);
  return true;
}

namespace {

// Marks the blocks of a chain. False if one is not a block or already marked, or the
// chain is longer than `count`.
bool mark_chain(const UnitLine* slab, const Block* block, std::uint32_t count,
                std::uint64_t* marks) noexcept {
  const SizeClass& described = class_of_slab(slab);
  for (std::uint32_t i = 0; i < count; ++i, block = block->next()) {
    const auto offset = static_cast<std::size_t>(reinterpret_cast<const char*>(block) - begin_of_slab(slab));
    if (block == nullptr || offset >= slab->units * unit_bytes) return false;
    const std::uint32_t index = block_index(slab->size_class, offset);
    if (index >= slab->fresh || index * std::size_t{described.block_bytes} != offset) return false;
    if ((marks[index / 64] >> index % 64 & 1) != 0) return false;
    marks[index / 64] |= std::uint64_t{1} << index % 64;
  }
  return block == nullptr;
}

}  // namespace

bool slab_is_valid(const UnitLine* slab) noexcept {
  const SizeClass& described = class_of_slab(slab);
  if (slab->kind != UnitKind::slab || slab->units > described.units) return false;
  if (slab->fresh > capacity_of_slab(slab) || slab->carved + dropped_count(slab) != slab->fresh) return false;
  const RemoteWord word = remote_of(slab);
  if (listed_count(slab) > slab->carved || word.count() > unlisted_count(slab)) return false;
  std::uint64_t marks[slab_map_words] = {};
  if (!mark_chain(slab, slab->free_list, listed_count(slab), marks)) return false;
  if (!word.has_blocks()) return word.count() == 0;
  const auto* remote = reinterpret_cast<const Block*>(begin_of_slab(slab) + word.head_offset());
  return mark_chain(slab, remote, word.count(), marks);
}

}  // namespace heapwright::heap
