// SPDX-License-Identifier: MIT
// One thread's heapwright::buffer_cache, with a policy of its own choice. In a namespace of its own:
// buffer_cache.hpp has a function heapwright::replay, beside which clang opens no namespace of that name.
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
// By number, as `heapwright lab buffer-cache` calls them except the brackets.
inline constexpr std::array<std::string_view, 6> policy_names = {"learnt_cutoff",     "fixed_cutoff_256",
                                                                 "fixed_cutoff_4096", "fixed_cutoff_65536",
                                                                 "calibrated_pool",   "keep_the_larger"};

// As thread_buffer_cache where nothing is said.
struct Settings {
  std::uint64_t total_bytes = 1 << 20;  // that wait, at most; not 0
  std::uint32_t buffers = 256;          // the same
  Policy policy = Policy::learnt_cutoff;
};

class Cache {
 public:
  // Throws std::bad_alloc, as allocate.
  explicit Cache(const Settings& settings);
  ~Cache();
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  void* allocate(std::size_t bytes);
  // What any cache of this policy gave.
  void release(void* block) noexcept;

 private:
  static constexpr std::size_t room_bytes = 8192;

  Policy policy_;
  alignas(std::max_align_t) std::array<std::byte, room_bytes> room_;
};

}  // namespace heapwright::cached_buffers
