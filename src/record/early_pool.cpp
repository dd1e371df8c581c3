// SPDX-License-Identifier: MIT
#include "record/early_pool.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>

namespace heapwright::record {
namespace {

constexpr std::size_t pool_bytes = 256 * 1024;
// Each block is preceded by its size, in the 16 bytes before it.
constexpr std::size_t prefix_bytes = 16;

alignas(4096) std::uint8_t pool[pool_bytes];
std::atomic<std::size_t> used_bytes;

}  // namespace

void* early_allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes > pool_bytes || alignment > 4096) return nullptr;
  const std::size_t step = (alignment < 16 ? 16 : alignment);
  const std::size_t taken = ((bytes + 15) & ~std::size_t{15}) + prefix_bytes + step;
  const std::size_t start = used_bytes.fetch_add(taken, std::memory_order_relaxed);
  if (start > pool_bytes || taken > pool_bytes - start) return nullptr;
  const std::size_t block = (start + prefix_bytes + step - 1) & ~(step - 1);
  std::memcpy(pool + block - sizeof bytes, &bytes, sizeof bytes);
  return pool + block;
}

bool is_early(const void* block) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  return address - reinterpret_cast<std::uintptr_t>(pool) < pool_bytes;
}

std::size_t early_size(const void* block) noexcept {
  std::size_t bytes;
  std::memcpy(&bytes, static_cast<const std::uint8_t*>(block) - sizeof bytes, sizeof bytes);
  return bytes;
}

}  // namespace heapwright::record
