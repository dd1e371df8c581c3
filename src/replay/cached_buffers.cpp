// SPDX-License-Identifier: MIT
#include "replay/cached_buffers.hpp"

#include <memory>
#include <new>
#include <type_traits>

#include "heapwright/buffer_cache.hpp"

namespace heapwright::cached_buffers {
namespace {

template <typename Chosen>
using PartOf = heapwright::buffer_cache<Chosen>;

// Calls apply with a std::type_identity of the policy's class.
template <typename Apply>
auto with_part(Policy policy, Apply apply) {
  switch (policy) {
    case Policy::fixed_cutoff_256:
      return apply(std::type_identity<PartOf<fixed_cutoff<256>>>{});
    case Policy::fixed_cutoff_4096:
      return apply(std::type_identity<PartOf<fixed_cutoff<4096>>>{});
    case Policy::fixed_cutoff_65536:
      return apply(std::type_identity<PartOf<fixed_cutoff<65536>>>{});
    case Policy::calibrated_pool:
      return apply(std::type_identity<PartOf<calibrated_pool>>{});
    case Policy::keep_the_larger:
      return apply(std::type_identity<PartOf<keep_the_larger>>{});
    default:
      return apply(std::type_identity<PartOf<learnt_cutoff>>{});
  }
}

template <typename Part>
Part& part_in(void* room) noexcept {
  return *std::launder(static_cast<Part*>(room));
}

}  // namespace

Cache::Cache(const Settings& settings) : policy_(settings.policy) {
  with_part(policy_, [&]<typename Part>(std::type_identity<Part>) {
    static_assert(sizeof(Part) <= room_bytes && alignof(Part) <= alignof(std::max_align_t));
    ::new (static_cast<void*>(room_.data())) Part(cache_limits{settings.total_bytes, settings.buffers});
  });
}

Cache::~Cache() {
  with_part(policy_,
            [&]<typename Part>(std::type_identity<Part>) { std::destroy_at(&part_in<Part>(room_.data())); });
}

void* Cache::allocate(std::size_t bytes) {
  return with_part(policy_, [&]<typename Part>(std::type_identity<Part>) -> void* {
    return part_in<Part>(room_.data()).allocate(bytes);
  });
}

void Cache::release(void* block) noexcept {
  with_part(policy_, [&]<typename Part>(std::type_identity<Part>) {
    part_in<Part>(room_.data()).release(static_cast<std::byte*>(block));
  });
}

}  // namespace heapwright::cached_buffers
