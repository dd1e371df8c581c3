// SPDX-License-Identifier: MIT
// The pools of the pool experiment, with a common interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "figures/mapped_array.hpp"
#include "heapwright/object_pool.hpp"

namespace heapwright::lab {

struct Element {
  std::uint64_t values[4];
};

struct PooledObject {
  std::vector<Element> elements;
  static constexpr auto pool_members = heapwright::members(&PooledObject::elements);
};

// Objects are in mapped memory; their vectors' buffers are in the heap. A returned object keeps a capacity of
// up to `keep` elements.
class FixedPool {
 public:
  FixedPool(std::uint64_t count, std::size_t keep) : storage_(count * sizeof(PooledObject)), keep_(keep) {
    for (std::uint64_t i = 0; i < count; ++i) new (objects() + i) PooledObject();
    count_ = count;
  }

  PooledObject* take(std::uint64_t number) noexcept { return objects() + number; }

  void give_back(std::uint64_t, PooledObject* object) noexcept {
    object->elements.clear();
    if (object->elements.capacity() > keep_) std::vector<Element>().swap(object->elements);
  }

  // Of all objects, in elements; this policy needs no list of the objects in use.
  std::uint64_t capacity(std::span<PooledObject* const>) const noexcept {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < count_; ++i) sum += objects()[i].elements.capacity();
    return sum;
  }

 private:
  PooledObject* objects() const noexcept {
    return reinterpret_cast<PooledObject*>(const_cast<std::byte*>(&storage_[0]));
  }

  figures::MappedArray<std::byte> storage_;
  std::size_t keep_;
  std::uint64_t count_ = 0;
};

// heapwright's pool, which chooses the object that it returns.
class OwnPool {
 public:
  explicit OwnPool(std::uint64_t objects) : pool_(pool_options{.max_idle = objects}) {}

  PooledObject* take(std::uint64_t) { return pool_.take(); }
  void give_back(std::uint64_t, PooledObject* object) noexcept { pool_.release(object); }

  std::uint64_t capacity(std::span<PooledObject* const> out) const {
    std::uint64_t sum = pool_.statistics().retained_bytes / sizeof(Element);
    for (const PooledObject* object : out) sum += object != nullptr ? object->elements.capacity() : 0;
    return sum;
  }

 private:
  object_pool<PooledObject> pool_;
};

}  // namespace heapwright::lab
