// SPDX-License-Identifier: MIT
#include "replay/servers.hpp"

#include <dlfcn.h>
#include <malloc.h>
#include <sched.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "figures/process_figures.hpp"
#include "figures/refusal.hpp"

namespace heapwright::replay {
namespace {

using Server = Servers::Server;
using Served = Servers::Served;

// The servers of the calling thread.
struct Current {
  Servers::Place* servers = nullptr;  // by part
  const ChangePart* parts = nullptr;
  std::size_t part_count = 0;
  std::uint32_t lane = 0;
  Served* served = nullptr;
  Slot* slots = nullptr;
  std::size_t slot_count = 0;
};
constinit thread_local Current current;

// One part's server for the calling thread.
struct Part {
  Change change;
  Server& server;
  bool has_heap;
};

Part part_of(std::size_t number) noexcept {
  if (number >= current.part_count) refuse_damaged();
  return {current.parts[number].change, reinterpret_cast<Server&>(current.servers[number]),
          current.parts[number].has_heap()};
}
Part part_of(const Operation& operation) noexcept { return part_of(operation.part()); }

// Alignment for a malloc call: a type's size is a multiple of its alignment, and so is an array's size.
Served request_of(const Operation& operation) noexcept {
  constexpr int most = std::countr_zero(alignof(std::max_align_t));
  const auto of_size =
      static_cast<std::uint64_t>(std::min(std::countr_zero(std::uint64_t{operation.size}), most));
  const std::uint64_t wanted = operation.alignment_log2;
  return {operation.size, (wanted != 0 ? wanted : of_size) & 31U, (operation.part() + 1) & 1023U,
          current.lane};
}

template <typename Memory>
Memory* found(Memory* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

bool is_kept(const Part& part, std::uint64_t size) noexcept {
  return part.change == Change::reuse && size >= base::least_kept_block;
}

// Aligned like malloc's, since no program asks its site's heap itself.
void* allocate_in(Servers::SiteHeap& site, const Part& part, const Served& wanted) {
  constexpr std::size_t of_malloc = 16;
  const std::size_t alignment = std::max(wanted.alignment(), of_malloc);
  if (is_kept(part, wanted.size) && alignment == of_malloc) {
    const std::lock_guard locked(site.mutex);
    if (void* const kept = site.kept.take(wanted.size)) return kept;
  }
  return found(heapwright_heap_allocate(site.heap, wanted.size, alignment));
}

void release_in(Servers::SiteHeap& site, const Part& part, void* block, std::uint64_t size) noexcept {
  if (!is_kept(part, size)) return heapwright_heap_free(site.heap, block);
  const std::size_t usable = (size + figures::page_bytes - 1) / figures::page_bytes * figures::page_bytes;
  base::KeptBlocks::Surplus surplus;
  {
    const std::lock_guard locked(site.mutex);
    surplus = site.kept.keep({block, usable}, base::usual_kept_bytes);
  }
  for (std::size_t i = 0; i < surplus.count; ++i) heapwright_heap_free(site.heap, surplus.blocks[i]);
}

void* allocate(const Part& part, const Served& wanted) noexcept {
  try {
    switch (part.change) {
      case Change::arena:
        return part.server.counted.arena.allocate(wanted.size, wanted.alignment());
      case Change::node_pool:
        return part.server.pool.allocate(wanted.size, wanted.alignment());
      case Change::buffer_cache:
        return part.server.cache.allocate(wanted.size);
      case Change::segregate:
      case Change::reuse:
        return allocate_in(*part.server.site, part, wanted);
      default:
        refuse_damaged();
    }
  } catch (const std::bad_alloc&) {
    figures::give_up("no block of %zu bytes", static_cast<std::size_t>(wanted.size));
  }
}

// The arena of another lane. Lanes follow each other in the array.
Servers::CountedArena& arena_of(std::uint32_t lane, const Part& part) noexcept {
  const auto lanes_on = static_cast<std::ptrdiff_t>(lane) - static_cast<std::ptrdiff_t>(current.lane);
  auto* const place = reinterpret_cast<Servers::Place*>(&part.server);
  return reinterpret_cast<Server*>(place + lanes_on * static_cast<std::ptrdiff_t>(current.part_count))
      ->counted;
}

void leave_arena(const Part& part, const Served& given) noexcept {
  if (given.lane == current.lane) {
    --part.server.counted.live;
  } else {
    arena_of(given.lane, part).released_by_others.fetch_add(1, std::memory_order_release);
  }
}

// An arena keeps the block.
void deallocate(const Part& part, void* block, const Served& given) noexcept {
  if (part.change == Change::node_pool) part.server.pool.deallocate(block, given.size, given.alignment());
  if (part.change == Change::buffer_cache) part.server.cache.release(block);
  if (part.has_heap) release_in(*part.server.site, part, block, given.size);
}

// The allocator's blocks have no request here. Another allocator's malloc_usable_size would read whatever is
// before a block.
std::size_t usable_size(void* block) noexcept {
  const auto object_of = [](const void* function) {
    Dl_info info{};
    return dladdr(function, &info) != 0 ? info.dli_fbase : nullptr;
  };
  static const bool is_of_allocator = object_of(reinterpret_cast<const void*>(&malloc_usable_size)) ==
                                      object_of(reinterpret_cast<const void*>(&malloc));
  return is_of_allocator ? malloc_usable_size(block) : 0;
}

// Out of a heap into the allocator's memory.
void leave(const Operation& operation, Slot& slot) noexcept {
  Served& given = current.served[operation.slot];
  if (slot.block == nullptr || given.owner == 0) refuse_damaged();
  void* const block = std::malloc(operation.size);
  if (block == nullptr) figures::give_up("no block of %zu bytes", static_cast<std::size_t>(operation.size));
  std::memcpy(block, slot.block, std::min<std::uint64_t>(given.size, operation.size));
  deallocate(part_of(given.owner - 1U), slot.block, given);
  slot.block = block;
  given = {};
}

// The new block is there; the old one's bytes go into it.
void move_from(void* old, const Served& given, void* block, const Served& wanted) noexcept {
  const std::uint64_t size = given.owner != 0 ? given.size : usable_size(old);
  std::memcpy(block, old, std::min<std::uint64_t>(size, wanted.size));
  if (given.owner == 0) return std::free(old);
  deallocate(part_of(given.owner - 1U), old, given);
}

// In recorded order the other threads have already freed their blocks.
void reset(const Part& part) noexcept {
  if (part.change != Change::arena) return;
  auto& counted = part.server.counted;
  while (counted.released_by_others.load(std::memory_order_acquire) != counted.live) sched_yield();
  counted.released_by_others.store(0, std::memory_order_relaxed);
  counted.live = 0;
  counted.arena.reset();
}

void make(const Operation& operation, Slot& slot) noexcept {
  const Part part = part_of(operation);
  if (operation.serving() == serve_first) reset(part);
  const Served wanted = request_of(operation);
  void* block = allocate(part, wanted);
  Served& given = current.served[operation.slot];
  if (operation.moves() && slot.block != nullptr) {
    move_from(slot.block, given, block, wanted);
  }
  if (part.change == Change::arena && !operation.moves()) ++part.server.counted.live;
  slot.block = block;
  given = wanted;
}

void release(const Operation& operation, Slot& slot) noexcept {
  if (slot.block == nullptr) refuse_damaged();
  const Part part = part_of(operation);
  const Served given = std::exchange(current.served[operation.slot], {});
  deallocate(part, slot.block, given);
  if (part.change == Change::arena) leave_arena(part, given);
  if (operation.serving() == serve_last) reset(part);
  slot.block = nullptr;
}

// The other slot belongs to this thread too: no other thread uses a block between the begin and the end of
// its growth.
void take(const Operation& operation, Slot& slot) noexcept {
  if (operation.size >= current.slot_count) refuse_damaged();
  slot.block = std::exchange(current.slots[operation.size].block, nullptr);
  slot.touched_pages = 0;
}

void begin(Servers::Place& place, const ChangePart& part, Servers::SiteHeap* site) {
  const Change change = part.change;
  auto* const memory = static_cast<void*>(&place);
  if (change == Change::arena) ::new (memory) Servers::CountedArena;
  if (change == Change::node_pool) ::new (memory) heapwright::node_pool;
  if (change == Change::buffer_cache) ::new (memory) cached_buffers::Cache(part.cache);
  if (part.has_heap()) ::new (memory) Servers::SiteHeap*(site);
}

void end(Servers::Place& place, Change change) noexcept {
  auto& server = reinterpret_cast<Server&>(place);
  if (change == Change::arena) server.counted.~CountedArena();
  if (change == Change::node_pool) server.pool.~node_pool();
  if (change == Change::buffer_cache) server.cache.~Cache();
}

}  // namespace

Servers::Servers(const PlanFile& plan, figures::MappedArray<Slot>& slots)
    : header_(plan.header()),
      slots_(slots),
      part_count_(std::min<std::uint64_t>(header_.part_count, most_parts)),
      places_(header_.lanes * part_count_),
      served_(header_.slots) {
  for (std::size_t part = 0; part < part_count_; ++part) {
    if (header_.parts[part].has_heap()) sites_[part].heap = found(heapwright_heap_create("sites"));
    for (std::size_t lane = 0; lane < header_.lanes; ++lane) {
      begin(place_of(lane, part), header_.parts[part], &sites_[part]);
    }
  }
}

Servers::~Servers() {
  for (std::size_t part = 0; part < part_count_; ++part) {
    const Change change = header_.parts[part].change;
    for (std::size_t lane = 0; lane < header_.lanes; ++lane) end(place_of(lane, part), change);
    if (sites_[part].heap != nullptr) heapwright_heap_destroy(sites_[part].heap);
  }
}

void Servers::enter(std::uint32_t lane) noexcept {
  current = {&place_of(lane, 0), header_.parts.data(), part_count_,  lane,
             served_.begin(),    slots_.begin(),       slots_.size()};
}

void serve(const Operation& operation, Slot& slot) noexcept {
  if (current.served == nullptr) refuse_damaged();
  if (operation.serving() == serve_leave) return leave(operation, slot);
  if (operation.makes()) return make(operation, slot);
  if (operation.kind == serve_take) return take(operation, slot);
  if (!operation.is_served()) refuse_damaged();
  release(operation, slot);
}

void reset_arena(const Operation& operation) noexcept { reset(part_of(operation)); }

}  // namespace heapwright::replay
