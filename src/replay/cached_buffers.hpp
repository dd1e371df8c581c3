// SPDX-License-Identifier: MIT
// One thread's heapwright::buffer_cache, with the limits of thread_buffer_cache. In a namespace of its own:
// buffer_cache.hpp has a function heapwright::replay, beside which clang opens no namespace of that name.
#pragma once

#include <array>
#include <cstddef>

namespace heapwright::cached_buffers {

class Cache {
 public:
  Cache();
  ~Cache();
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  // Throws std::bad_alloc.
  void* allocate(std::size_t bytes);
  // What any cache gave.
  void release(void* block) noexcept;

 private:
  static constexpr std::size_t room_bytes = 8192;

  alignas(std::max_align_t) std::array<std::byte, room_bytes> room_;
};

}  // namespace heapwright::cached_buffers
