// SPDX-License-Identifier: MIT
// Random allocate-or-free over slots of fixed sizes: the load of the fragmentation and the contention
// experiments.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "figures/mapped_array.hpp"
#include "lab/loads.hpp"

namespace heapwright::lab {

// Writes to every page of the block, so that all of it is resident.
void touch_pages(void* block, std::size_t size_bytes) noexcept;

// A slot is empty or owns a block of its size. Several threads may call run_shared() on one load: a slot's
// block is taken by one exchange, so every block is freed once, perhaps by another thread than the one that
// allocated it.
class FragmentingLoad {
 public:
  FragmentingLoad(std::uint64_t class_bytes, std::uint64_t seed);

  // Each iteration picks a random slot and frees its block or fills it.
  void run(std::uint64_t iterations, Random& random) noexcept;
  // The same if other threads run on this load too.
  void run_shared(std::uint64_t iterations, Random& random) noexcept;
  // Bytes of the blocks that are live; no thread may be running.
  std::uint64_t requested_bytes() const noexcept;
  std::size_t live_count() const noexcept;
  void free_all() noexcept;
  std::size_t slot_count() const noexcept { return sizes_.size(); }

 private:
  void* allocate(std::size_t slot) const noexcept;

  figures::MappedArray<std::uint32_t> sizes_;
  figures::MappedArray<std::atomic<void*>> blocks_;
};

}  // namespace heapwright::lab
