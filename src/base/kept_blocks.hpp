// SPDX-License-Identifier: MIT
// Freed large blocks of a call site that are kept for its next ones. Without a lock and without an allocator.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapwright::base {

inline constexpr std::uint64_t usual_kept_bytes = std::uint64_t{64} << 20;
inline constexpr std::size_t least_kept_block = 64 * 1024 + 1;  // smaller ones share pages with others

class KeptBlocks {
 public:
  static constexpr std::size_t most = 8;

  struct Block {
    void* memory;
    std::size_t bytes;  // usable
  };
  struct Surplus {
    std::size_t count;
    void* blocks[most];
  };

  std::size_t count() const noexcept { return count_; }
  std::size_t bytes() const noexcept { return bytes_; }
  bool has(const void* memory) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      if (blocks_[i].memory == memory) return true;
    }
    return false;
  }

  // The newest that is at most a quarter larger than what is wanted; nullptr: none.
  void* take(std::size_t wanted) noexcept {
    for (std::size_t i = count_; i > 0; --i) {
      const Block found = blocks_[i - 1];
      if (found.bytes < wanted || found.bytes - wanted > wanted / 4) continue;
      remove(i - 1);
      return found.memory;
    }
    return nullptr;
  }

  // Keeps the block instead of the oldest ones if there is no room: those are to be freed.
  Surplus keep(Block block, std::size_t most_bytes) noexcept {
    Surplus surplus{};
    if (block.bytes > most_bytes) {
      surplus.blocks[surplus.count++] = block.memory;
      return surplus;
    }
    while (count_ != 0 && (count_ == most || bytes_ + block.bytes > most_bytes)) {
      surplus.blocks[surplus.count++] = blocks_[0].memory;
      remove(0);
    }
    blocks_[count_++] = block;
    bytes_ += block.bytes;
    return surplus;
  }

 private:
  void remove(std::size_t index) noexcept {
    bytes_ -= blocks_[index].bytes;
    --count_;
    for (; index < count_; ++index) blocks_[index] = blocks_[index + 1];
  }

  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  Block blocks_[most] = {};
};

}  // namespace heapwright::base
