// SPDX-License-Identifier: MIT
#include "replay/servers.hpp"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

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
};

Part part_of(const Operation& operation) noexcept {
  const auto number = operation.part();
  if (number >= current.part_count) refuse_damaged();
  return {current.parts[number].change, reinterpret_cast<Server&>(current.servers[number])};
}

// Alignment for a malloc call: a type's size is a multiple of its alignment, and so is an array's size.
Served request_of(const Operation& operation) noexcept {
  constexpr int most = std::countr_zero(alignof(std::max_align_t));
  const auto of_size =
      static_cast<std::uint64_t>(std::min(std::countr_zero(std::uint64_t{operation.size}), most));
  const std::uint64_t wanted = operation.alignment_log2;
  return {operation.size, (wanted != 0 ? wanted : of_size) & 31U, current.lane};
}

template <typename Memory>
Memory* found(Memory* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
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
        return found(heapwright_heap_allocate(part.server.heap, wanted.size, wanted.alignment()));
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
  if (part.change == Change::segregate) heapwright_heap_free(part.server.heap, block);
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
    std::memcpy(block, slot.block, std::min<std::uint64_t>(given.size, wanted.size));
    deallocate(part, slot.block, given);
  }
  if (part.change == Change::arena && !operation.moves()) ++part.server.counted.live;
  slot.block = block;
  given = wanted;
}

void release(const Operation& operation, Slot& slot) noexcept {
  if (slot.block == nullptr) refuse_damaged();
  const Part part = part_of(operation);
  const Served& given = current.served[operation.slot];
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

void begin(Servers::Place& place, const ChangePart& part, heapwright_heap* heap) {
  const Change change = part.change;
  auto* const memory = static_cast<void*>(&place);
  if (change == Change::arena) ::new (memory) Servers::CountedArena;
  if (change == Change::node_pool) ::new (memory) heapwright::node_pool;
  if (change == Change::buffer_cache) ::new (memory) cached_buffers::Cache(part.cache);
  if (change == Change::segregate) ::new (memory) heapwright_heap*(heap);
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
    const Change change = header_.parts[part].change;
    heapwright_heap* const heap =
        change == Change::segregate ? found(heapwright_heap_create("segregate")) : nullptr;
    for (std::size_t lane = 0; lane < header_.lanes; ++lane) {
      begin(place_of(lane, part), header_.parts[part], heap);
    }
  }
}

Servers::~Servers() {
  for (std::size_t part = 0; part < part_count_; ++part) {
    const Change change = header_.parts[part].change;
    for (std::size_t lane = 0; lane < header_.lanes; ++lane) end(place_of(lane, part), change);
    if (change == Change::segregate) {
      heapwright_heap_destroy(reinterpret_cast<Server&>(place_of(0, part)).heap);
    }
  }
}

void Servers::enter(std::uint32_t lane) noexcept {
  current = {&place_of(lane, 0), header_.parts.data(), part_count_,  lane,
             served_.begin(),    slots_.begin(),       slots_.size()};
}

void serve(const Operation& operation, Slot& slot) noexcept {
  if (current.served == nullptr) refuse_damaged();
  if (operation.makes()) return make(operation, slot);
  if (operation.kind == serve_take) return take(operation, slot);
  if (!operation.is_served()) refuse_damaged();
  release(operation, slot);
}

void reset_arena(const Operation& operation) noexcept { reset(part_of(operation)); }

}  // namespace heapwright::replay
