// SPDX-License-Identifier: MIT
// A reference model of a heap: what is live, with which size and content. It
// makes the calls that a source of choices asks for and compares every answer.
// Blocks overlap or change only if a pattern is hurt, so no address is judged.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "heapwright/heap.h"

namespace heap_model {

// The functions under test; heaps may be missing (null).
struct Functions {
  void* (*allocate)(std::size_t bytes);
  void* (*allocate_zeroed)(std::size_t bytes);
  void* (*allocate_aligned)(std::size_t bytes, std::size_t alignment);
  void* (*reallocate)(void* block, std::size_t bytes);
  void (*release)(void* block);
  void (*release_sized)(void* block, std::size_t bytes, std::size_t alignment);
  std::size_t (*usable_bytes)(void* block);
  heapwright_heap* (*create_heap)(const char* name);
  void* (*allocate_in)(heapwright_heap* heap, std::size_t bytes, std::size_t alignment);
  void (*release_in)(heapwright_heap* heap, void* block);
  void (*destroy_heap)(heapwright_heap* heap);
  int (*get_statistics)(heapwright_heap* heap, heapwright_heap_statistics* out);
  std::size_t (*maintain)(std::size_t budget);
  int (*is_valid)();
};

[[noreturn]] inline void fail(const char* what, std::size_t step) {
  std::fprintf(stderr, "the model disagrees at step %zu: %s\n", step, what);
  std::abort();
}

// Numbers from a seed; `draw(n)` is below n.
class SeededChoices {
 public:
  explicit SeededChoices(std::uint64_t seed) : state_(seed * 2862933555777941757ULL + 3037000493ULL) {}
  bool has_more() const { return true; }
  std::uint32_t draw(std::uint32_t below) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::uint32_t>(state_ >> 33) % below;
  }

 private:
  std::uint64_t state_;
};

// Numbers from bytes, such as a fuzzer's.
class ByteChoices {
 public:
  ByteChoices(const unsigned char* data, std::size_t size) : data_(data), size_(size) {}
  bool has_more() const { return at_ < size_; }
  std::uint32_t draw(std::uint32_t below) {
    std::uint32_t value = 0;
    for (std::uint32_t limit = 1; limit < below && at_ < size_; limit <<= 8) {
      value = value << 8 | data_[at_++];
      if (limit >= 1U << 24) break;
    }
    return value % below;
  }

 private:
  const unsigned char* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

template <class Choices>
class Model {
 public:
  Model(const Functions& functions, Choices choices) : call_(functions), choices_(choices) {}
  ~Model() {
    for (Block& block : blocks_) release(block);
    for (std::size_t heap = 0; heap < heap_count; ++heap) destroy(heap);
  }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  void run(std::size_t steps) {
    for (step_ = 0; step_ < steps && choices_.has_more(); ++step_) take_step();
    for (const Block& block : blocks_) check(block);
  }

 private:
  static constexpr std::size_t block_count = 600;
  static constexpr std::size_t heap_count = 3;
  static constexpr std::size_t no_heap = heap_count;
  static constexpr std::size_t whole_pattern_bytes = 4096;

  struct Block {
    unsigned char* memory = nullptr;
    std::size_t bytes = 0;
    std::size_t alignment = 1;
    std::size_t heap = no_heap;
    unsigned char seed = 0;
  };

  void require(bool condition, const char* what) const {
    if (!condition) fail(what, step_);
  }

  // Big blocks are filled at both ends and here and there.
  static std::size_t stride_at(const Block& block, std::size_t at) {
    const bool is_whole = block.bytes <= whole_pattern_bytes || at < 64 || at + 64 >= block.bytes;
    return is_whole ? 1 : 1021;
  }
  static unsigned char pattern(const Block& block, std::size_t at) {
    return static_cast<unsigned char>(block.seed + at * 31 + (at >> 8));
  }
  static std::size_t next(const Block& block, std::size_t at) {
    const std::size_t after = at + stride_at(block, at);
    const bool skips_tail = block.bytes > 64 && at + 64 < block.bytes && after + 64 > block.bytes;
    return skips_tail ? block.bytes - 64 : after;
  }
  void fill(Block& block) {
    block.seed = static_cast<unsigned char>(step_ * 7 + 1);
    for (std::size_t at = 0; at < block.bytes; at = next(block, at)) block.memory[at] = pattern(block, at);
  }
  void check(const Block& block) const { check_first(block, block.bytes); }
  void check_first(const Block& block, std::size_t bytes) const {
    if (block.memory == nullptr) return;
    for (std::size_t at = 0; at < bytes; at = next(block, at)) {
      require(block.memory[at] == pattern(block, at), "content of a live block changed");
    }
  }

  std::size_t draw_size() {
    switch (choices_.draw(16)) {
      case 0:
        return choices_.draw(3);
      case 1:
        return choices_.draw(1U << 21);
      case 2:
      case 3:
        return choices_.draw(80000);
      case 4:  // a border of a power of two
        return (std::size_t{16} << choices_.draw(14)) + choices_.draw(3) - 1;
      case 5:
      case 6:
      case 7:
        return choices_.draw(5000);
      default:
        return choices_.draw(520);
    }
  }

  void take_step() {
    Block& block = blocks_[choices_.draw(block_count)];
    check(block);
    const std::uint32_t kind = choices_.draw(40);
    if (kind == 0) return change_heaps();
    if (kind == 1 && call_.maintain != nullptr) return void(call_.maintain(choices_.draw(50)));
    if (block.memory == nullptr) return allocate(block);
    if (kind < 12 && block.heap == no_heap) return reallocate(block);
    release(block);
  }

  void adopt(Block& block, void* memory, std::size_t bytes, std::size_t alignment) {
    require(memory != nullptr, "no memory");
    require(reinterpret_cast<std::uintptr_t>(memory) % alignment == 0, "alignment");
    require(call_.usable_bytes(memory) >= bytes, "usable size below the size asked for");
    block.memory = static_cast<unsigned char*>(memory);
    block.bytes = bytes;
    block.alignment = alignment;
    fill(block);
  }

  void allocate(Block& block) {
    const std::size_t bytes = draw_size();
    const std::size_t natural = bytes <= 8 ? 8 : 16;
    const std::size_t alignment = std::size_t{8} << choices_.draw(choices_.draw(8) == 0 ? 14 : 5);
    const std::size_t heap = choices_.draw(heap_count * 2);
    if (heap < heap_count && heaps_[heap] != nullptr) {
      block.heap = heap;
      ++live_in_[heap];
      return adopt(block, call_.allocate_in(heaps_[heap], bytes, alignment), bytes, alignment);
    }
    switch (choices_.draw(4)) {
      case 0: {
        void* memory = call_.allocate_zeroed(bytes);
        require(memory != nullptr, "no memory");
        const auto* first = static_cast<unsigned char*>(memory);
        const bool is_zero = bytes == 0 || (first[0] == 0 && std::memcmp(first, first + 1, bytes - 1) == 0);
        require(is_zero, "a zeroed block is not");
        return adopt(block, memory, bytes, natural);
      }
      case 1:
        return adopt(block, call_.allocate_aligned(bytes, alignment), bytes, alignment);
      default:
        return adopt(block, call_.allocate(bytes), bytes, natural);
    }
  }

  void reallocate(Block& block) {
    const std::size_t bytes = 1 + draw_size();
    void* moved = call_.reallocate(block.memory, bytes);
    require(moved != nullptr, "no memory");
    block.memory = static_cast<unsigned char*>(moved);
    check_first(block, bytes < block.bytes ? bytes : block.bytes);
    adopt(block, moved, bytes, bytes <= 8 ? 8 : 16);
  }

  void release(Block& block) {
    if (block.memory == nullptr) return;
    check(block);
    const std::uint32_t way = choices_.draw(3);
    if (block.heap != no_heap) {
      --live_in_[block.heap];
      way == 0 ? call_.release(block.memory) : call_.release_in(heaps_[block.heap], block.memory);
    } else if (way == 0) {
      call_.release_sized(block.memory, block.bytes, block.alignment);
    } else {
      call_.release(block.memory);
    }
    block = Block{};
  }

  void change_heaps() {
    if (call_.create_heap == nullptr) return;
    const std::size_t heap = choices_.draw(heap_count);
    if (heaps_[heap] == nullptr) {
      heaps_[heap] = call_.create_heap("model");
      require(heaps_[heap] != nullptr, "no heap");
      return;
    }
    heapwright_heap_statistics sums{};
    require(call_.get_statistics(heaps_[heap], &sums) == 0, "statistics");
    require(sums.live_blocks == live_in_[heap], "live blocks of a heap");
    if (choices_.draw(4) == 0) destroy(heap);
  }

  void destroy(std::size_t heap) {
    if (heaps_[heap] == nullptr) return;
    for (Block& block : blocks_) {
      if (block.memory == nullptr || block.heap != heap) continue;
      check(block);
      block = Block{};
    }
    call_.destroy_heap(heaps_[heap]);
    heaps_[heap] = nullptr;
    live_in_[heap] = 0;
  }

  Functions call_;
  Choices choices_;
  std::array<Block, block_count> blocks_{};
  std::array<heapwright_heap*, heap_count> heaps_{};
  std::array<std::size_t, heap_count> live_in_{};
  std::size_t step_ = 0;
};

}  // namespace heap_model
