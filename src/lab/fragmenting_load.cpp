// SPDX-License-Identifier: MIT
#include "lab/fragmenting_load.hpp"

#include <cstdlib>

#include "figures/process_figures.hpp"

namespace heapwright::lab {

void touch_pages(void* block, std::size_t size_bytes) noexcept {
  auto* bytes = static_cast<volatile unsigned char*>(block);
  for (std::size_t offset = 0; offset < size_bytes; offset += figures::page_bytes) bytes[offset] = 1;
  bytes[size_bytes - 1] = 1;
}

FragmentingLoad::FragmentingLoad(std::uint64_t class_bytes, std::uint64_t seed)
    : sizes_(fragmenting_slot_count(class_bytes)), blocks_(sizes_.size()) {
  Random random(seed);
  fill_fragmenting_sizes(sizes_.begin(), class_bytes, random);
}

void* FragmentingLoad::allocate(std::size_t slot) const noexcept {
  void* block = std::malloc(sizes_[slot]);
  if (block == nullptr) figures::give_up("malloc(%u) failed", sizes_[slot]);
  touch_pages(block, sizes_[slot]);
  return block;
}

void FragmentingLoad::run(std::uint64_t iterations, Random& random) noexcept {
  for (std::uint64_t i = 0; i < iterations; ++i) {
    const std::size_t slot = random.below(sizes_.size());
    void* block = blocks_[slot].load(std::memory_order_relaxed);
    blocks_[slot].store(block == nullptr ? allocate(slot) : nullptr, std::memory_order_relaxed);
    if (block != nullptr) std::free(block);
  }
}

void FragmentingLoad::run_shared(std::uint64_t iterations, Random& random) noexcept {
  for (std::uint64_t i = 0; i < iterations; ++i) {
    const std::size_t slot = random.below(sizes_.size());
    void* block = blocks_[slot].exchange(nullptr, std::memory_order_acq_rel);
    if (block == nullptr) block = blocks_[slot].exchange(allocate(slot), std::memory_order_acq_rel);
    if (block != nullptr) std::free(block);
  }
}

std::uint64_t FragmentingLoad::requested_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (std::size_t slot = 0; slot < sizes_.size(); ++slot) {
    if (blocks_[slot].load(std::memory_order_acquire) != nullptr) bytes += sizes_[slot];
  }
  return bytes;
}

std::size_t FragmentingLoad::live_count() const noexcept {
  std::size_t count = 0;
  for (std::size_t slot = 0; slot < sizes_.size(); ++slot) {
    count += blocks_[slot].load(std::memory_order_acquire) != nullptr ? 1 : 0;
  }
  return count;
}

void FragmentingLoad::free_all() noexcept {
  for (auto& block : blocks_) std::free(block.exchange(nullptr, std::memory_order_acq_rel));
}

}  // namespace heapwright::lab
