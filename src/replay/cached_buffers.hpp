// SPDX-License-Identifier: MIT
// One thread's heapwright::buffer_cache with a selectable policy. It has its own namespace: buffer_cache.hpp
// has a function heapwright::replay, and clang does not allow a namespace of the same name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heapwright::cached_buffers {

enum class Policy : std::uint32_t {
  learnt_cutoff,
  fixed_cutoff_256,  // heapwright::fixed_cutoff<256>
  fixed_cutoff_4096,
  fixed_cutoff_65536,
  calibrated_pool,
  keep_the_larger
};
// Indexed by policy, with the names of `heapwright lab buffer-cache` without brackets.
inline constexpr std::array<std::string_view, 6> policy_names = {"learnt_cutoff",     "fixed_cutoff_256",
                                                                 "fixed_cutoff_4096", "fixed_cutoff_65536",
                                                                 "calibrated_pool",   "keep_the_larger"};

// Defaults as in thread_buffer_cache.
struct Settings {
  std::uint64_t total_bytes = 1 << 20;  // limit of cached bytes; not 0
  std::uint32_t buffers = 256;          // limit of cached buffers; not 0
  Policy policy = Policy::learnt_cutoff;
};

class Cache {
 public:
  // Throws std::bad_alloc, as does allocate.
  explicit Cache(const Settings& settings);
  ~Cache();
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  void* allocate(std::size_t bytes);
  // Any block that a cache of this policy returned.
  void release(void* block) noexcept;

 private:
  static constexpr std::size_t room_bytes = 8192;

  Policy policy_;
  alignas(std::max_align_t) std::array<std::byte, room_bytes> room_;
};

}  // namespace heapwright::cached_buffers
