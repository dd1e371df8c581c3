// SPDX-License-Identifier: MIT
// Reports the blocks of arenas and pools to a recorder in files compiled with
// HEAPWRIGHT_ANNOTATE=1. Otherwise these classes are empty and do nothing.
#ifndef HEAPWRIGHT_DETAIL_POOL_ANNOTATION_HPP
#define HEAPWRIGHT_DETAIL_POOL_ANNOTATION_HPP

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

#include "heapwright/detail/check.hpp"
#if HEAPWRIGHT_ANNOTATE
#include "heapwright/annotate.h"
#include "heapwright/detail/type_name.hpp"
#endif

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

#if HEAPWRIGHT_ANNOTATE

// A member of a pool that reports its creation, blocks and destruction.
class pool_annotation {
 public:
  pool_annotation(const void* pool, const char* name) noexcept : pool_(pool), name_(name) {
    heapwright_pool_created(pool_, name_);
  }
  pool_annotation(const pool_annotation&) = delete;
  pool_annotation& operator=(const pool_annotation&) = delete;
  ~pool_annotation() { heapwright_pool_destroyed(pool_); }
  void took(const void* block, std::size_t bytes) const noexcept {
    heapwright_pool_allocated(pool_, block, bytes);
  }
  void gave(const void* block) const noexcept { heapwright_pool_freed(pool_, block); }
  // All blocks at once: ends one pool and begins another.
  void gave_all() const noexcept {
    heapwright_pool_destroyed(pool_);
    heapwright_pool_created(pool_, name_);
  }

 private:
  const void* pool_;
  const char* name_;
};

// For a pool of T that lives until the process ends: never destroyed.
template <class T>
const pool_annotation& lasting_annotation(const void* pool) noexcept {
  alignas(pool_annotation) static std::byte room[sizeof(pool_annotation)];
  static const auto* const said = ::new (static_cast<void*>(room)) pool_annotation(pool, type_name<T>::value);
  return *said;
}

// As pool_annotation, for an arena, which keeps no list of its blocks: each block has the
// address of the one before in front of it, so that a rewind can report which are freed.
// Blocks may be unaligned, so the addresses are copied by memcpy.
class arena_annotation {
 public:
  using position = const std::byte*;  // the newest block
  arena_annotation(const void* arena, const char* name) noexcept : pool_(arena, name) {}
  // The extra bytes in front of an allocation.
  static constexpr std::size_t front_bytes(std::size_t alignment) noexcept {
    return std::max(alignment, sizeof(position));
  }
  void* took(void* memory, std::size_t front, std::size_t bytes) noexcept {
    std::byte* const first = static_cast<std::byte*>(memory) + front;
    std::memcpy(first - sizeof newest_, &newest_, sizeof newest_);
    newest_ = first;
    pool_.took(first, bytes);
    return first;
  }
  position now() const noexcept { return newest_; }
  void gave_since(position earlier) noexcept {
    while (newest_ != earlier) {
      pool_.gave(newest_);
      std::memcpy(&newest_, newest_ - sizeof newest_, sizeof newest_);
    }
  }

 private:
  pool_annotation pool_;
  position newest_ = nullptr;
};

#else

class pool_annotation {
 public:
  pool_annotation(const void*, const char*) noexcept {}
  void took(const void*, std::size_t) const noexcept {}
  void gave(const void*) const noexcept {}
  void gave_all() const noexcept {}
};

template <class>
pool_annotation lasting_annotation(const void*) noexcept {
  return {nullptr, nullptr};
}

class arena_annotation {
 public:
  struct position {};
  arena_annotation(const void*, const char*) noexcept {}
  static constexpr std::size_t front_bytes(std::size_t) noexcept { return 0; }
  void* took(void* memory, std::size_t, std::size_t) noexcept { return memory; }
  position now() const noexcept { return {}; }
  void gave_since(position) noexcept {}
};

#endif

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#endif
