// SPDX-License-Identifier: MIT
#include "replay/cached_buffers.hpp"

#include <memory>
#include <new>

#include "heapwright/buffer_cache.hpp"

namespace heapwright::cached_buffers {
namespace {

using Part = heapwright::buffer_cache<>;

Part& part_in(void* room) noexcept { return *std::launder(static_cast<Part*>(room)); }

}  // namespace

Cache::Cache() {
  static_assert(sizeof(Part) <= room_bytes && alignof(Part) <= alignof(std::max_align_t));
  ::new (static_cast<void*>(room_.data())) Part(cache_limits{1024 * 1024, 256});
}

Cache::~Cache() { std::destroy_at(&part_in(room_.data())); }

void* Cache::allocate(std::size_t bytes) { return part_in(room_.data()).allocate(bytes); }

void Cache::release(void* block) noexcept { part_in(room_.data()).release(static_cast<std::byte*>(block)); }

}  // namespace heapwright::cached_buffers
