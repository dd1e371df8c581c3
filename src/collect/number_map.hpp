// SPDX-License-Identifier: MIT
// Maps small numbers of the session (stack nodes, frames) to the trace's dense ids. Open addressing: a table
// sized for the used entries stays in cache, unlike an array indexed by the scattered slot numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heapwright::collect {

class NumberMap {
 public:
  static constexpr std::uint32_t absent = 0xffffffffU;

  NumberMap() : entries_(initial_slots) {}

  // `key` must not be absent.
  std::uint32_t find(std::uint32_t key) const noexcept {
    std::size_t slot = slot_of(key);
    while (entries_[slot].key != key) {
      if (entries_[slot].key == absent) return absent;
      slot = (slot + 1) & mask_;
    }
    return entries_[slot].value;
  }

  // `key` must not be in the map.
  void insert(std::uint32_t key, std::uint32_t value) {
    if ((count_ + 1) * 2 > entries_.size()) grow();
    place({key, value});
    ++count_;
  }

  std::size_t count() const noexcept { return count_; }

 private:
  struct Entry {
    std::uint32_t key = absent;
    std::uint32_t value = absent;
  };
  static constexpr std::size_t initial_slots = 1024;

  std::size_t slot_of(std::uint32_t key) const noexcept {
    return (key * 0x9e3779b97f4a7c15ULL >> 32) & mask_;
  }

  void place(Entry entry) noexcept {
    std::size_t slot = slot_of(entry.key);
    while (entries_[slot].key != absent) slot = (slot + 1) & mask_;
    entries_[slot] = entry;
  }

  void grow() {
    std::vector<Entry> old(entries_.size() * 2);
    old.swap(entries_);
    mask_ = entries_.size() - 1;
    for (const Entry& entry : old) {
      if (entry.key != absent) place(entry);
    }
  }

  std::vector<Entry> entries_;
  std::size_t mask_ = initial_slots - 1;
  std::size_t count_ = 0;
};

}  // namespace heapwright::collect
