// SPDX-License-Identifier: MIT
// Blocks for the few calls that arrive before the real malloc is known (the loader and dlsym allocate while
// we look it up). Never freed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "platform/glibc_header.hpp"

namespace heapwright::platform {

struct EarlyPool {
  static constexpr std::size_t bytes = 256 * 1024;
  // Each block is preceded by its size, in the 16 bytes before it: times 8, and with the flag by which
  // glibc's headers say that they do not tell a usable size (glibc_header.hpp). So who reads these need not
  // look first whether a block is early.
  static constexpr std::size_t prefix_bytes = 16;
  static constexpr std::size_t flag = GlibcHeader::is_mapped_alone;

  alignas(4096) std::uint8_t memory[bytes];
  std::atomic<std::size_t> used_bytes;
};
[[gnu::visibility("hidden")]] inline constinit EarlyPool early_pool{};

// 16-byte aligned (or more), zeroed, nullptr if the pool is exhausted. Thread-safe.
inline void* early_allocate(std::size_t bytes, std::size_t alignment = 16) noexcept {
  if (bytes > EarlyPool::bytes || alignment > 4096) return nullptr;
  const std::size_t step = (alignment < 16 ? 16 : alignment);
  const std::size_t taken = ((bytes + 15) & ~std::size_t{15}) + EarlyPool::prefix_bytes + step;
  const std::size_t start = early_pool.used_bytes.fetch_add(taken, std::memory_order_relaxed);
  if (start > EarlyPool::bytes || taken > EarlyPool::bytes - start) return nullptr;
  const std::size_t block = (start + EarlyPool::prefix_bytes + step - 1) & ~(step - 1);
  const std::size_t word = bytes * 8 | EarlyPool::flag;
  std::memcpy(early_pool.memory + block - sizeof word, &word, sizeof word);
  return early_pool.memory + block;
}

// Whether `block` came from early_allocate(). Two compares.
inline bool is_early(const void* block) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  return address - reinterpret_cast<std::uintptr_t>(early_pool.memory) < EarlyPool::bytes;
}

// The requested size; `block` must be early.
inline std::size_t early_size(const void* block) noexcept {
  std::size_t word;
  std::memcpy(&word, static_cast<const std::uint8_t*>(block) - sizeof word, sizeof word);
  return word / 8;
}

}  // namespace heapwright::platform
