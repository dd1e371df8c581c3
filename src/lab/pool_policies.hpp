// SPDX-License-Identifier: MIT
// The pools of the pool experiment, all with the same few functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "lab/mapped_array.hpp"

namespace heapwright::lab {

struct Element {
  std::uint64_t values[4];
};

struct PooledObject {
  std::vector<Element> elements;
};

// Objects live in mapped memory; their vectors' buffers are in the heap. What
// comes back keeps a capacity of up to `keep` elements.
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

  // Of all objects, taken or not, in elements.
  std::uint64_t capacity() const noexcept {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < count_; ++i) sum += objects()[i].elements.capacity();
    return sum;
  }

 private:
  PooledObject* objects() const noexcept {
    return reinterpret_cast<PooledObject*>(const_cast<std::byte*>(&storage_[0]));
  }

  MappedArray<std::byte> storage_;
  std::size_t keep_;
  std::uint64_t count_ = 0;
};

}  // namespace heapwright::lab
