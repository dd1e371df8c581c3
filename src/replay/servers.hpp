// SPDX-License-Identifier: MIT
// Serves the blocks that a change takes from the heap, with the code of the changes' components. A component
// gets its memory from the allocator under test; but a segregated heap is always heapwright's.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/kept_blocks.hpp"
#include "figures/mapped_array.hpp"
#include "heapwright/arena.hpp"
#include "heapwright/heap.h"
#include "heapwright/node_pool.hpp"
#include "replay/cached_buffers.hpp"
#include "replay/change.hpp"
#include "replay/plan_file.hpp"
#include "replay/slot.hpp"

namespace heapwright::replay {

// One for each lane and part of the change. Precondition of the destructor: no thread runs a lane any more.
class Servers {
 public:
  // Both must outlive it.
  Servers(const PlanFile& plan, figures::MappedArray<Slot>& slots);
  ~Servers();
  Servers(const Servers&) = delete;
  Servers& operator=(const Servers&) = delete;

  // The calling thread runs this lane from now on. Threads: any.
  void enter(std::uint32_t lane) noexcept;

  // The request to a server; the block is freed with the same values.
  struct Served {
    std::uint64_t size : 44;
    std::uint64_t alignment_log2 : 10;
    std::uint64_t owner : 10;  // part number plus one; 0: the allocator
    std::uint32_t lane;        // whose server gave it

    std::size_t alignment() const noexcept { return std::size_t{1} << alignment_log2; }
  };
  // Other threads may free an arena's blocks, but its own thread resets it, after all of them.
  struct CountedArena {
    heapwright::arena arena;
    std::uint64_t live = 0;  // those that its own thread has not freed
    std::atomic<std::uint64_t> released_by_others = 0;
  };
  // A heap of the sites' own, and what is kept there.
  struct SiteHeap {
    heapwright_heap* heap;
    std::mutex mutex;
    base::KeptBlocks kept;
  };
  // For one lane and part. Constructed and destroyed in place.
  union Server {
    CountedArena counted;
    heapwright::node_pool pool;
    cached_buffers::Cache cache;
    SiteHeap* site;  // shared by all lanes
    Server() noexcept {}
    ~Server() {}
  };
  struct alignas(Server) Place {
    std::array<std::byte, sizeof(Server)> bytes;
  };

 private:
  Place& place_of(std::size_t lane, std::size_t part) noexcept { return places_[lane * part_count_ + part]; }

  const Header& header_;
  figures::MappedArray<Slot>& slots_;
  std::size_t part_count_;
  figures::MappedArray<Place> places_;
  figures::MappedArray<Served> served_;  // by slot
  std::array<SiteHeap, most_parts> sites_{};
};

// What remains of a call that a change leaves out. In the header, because a call would cost about as much as
// malloc.
inline void leave_out(const Operation& operation, Slot& slot) noexcept {
  if (operation.keeps()) return;
  slot.block = nullptr;
  slot.touched_pages = 0;
}

// Performs any other changed operation. Ends the process if the operation is invalid.
[[gnu::noinline]] void serve(const Operation& operation, Slot& slot) noexcept;
void reset_arena(const Operation& operation) noexcept;

}  // namespace heapwright::replay
