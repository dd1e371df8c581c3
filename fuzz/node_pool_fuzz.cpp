// SPDX-License-Identifier: MIT
// Bytes as blocks taken from a node_pool and given back, over an upstream that
// fails now and then. Blocks must keep their bytes, the counts must agree, and
// all must be upstream again at the end.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory_resource>
#include <new>
#include <vector>

#include "heapwright/node_pool.hpp"

namespace {

struct Upstream final : std::pmr::memory_resource {
  std::size_t live_bytes = 0;
  bool fails = false;
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (fails) throw std::bad_alloc();
    live_bytes += bytes;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* first, std::size_t bytes, std::size_t alignment) override {
    live_bytes -= bytes;
    std::pmr::new_delete_resource()->deallocate(first, bytes, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

struct Block {
  unsigned char* first;
  std::size_t bytes;
  std::size_t alignment;
  unsigned char value;
};

struct State {
  std::vector<Block> blocks;
  std::size_t large = 0;
};

bool is_large(const Block& block) {
  return block.bytes > heapwright::node_pool::largest_node || block.alignment > 16;
}

void take(heapwright::node_pool& pool, Upstream& upstream, State& state, unsigned kind, unsigned number) {
  const std::size_t bytes = kind < 240 ? number % 9 * 40 : number % 3000;
  const std::size_t alignment = std::size_t{1} << (kind < 240 ? 3 : kind % 8);
  upstream.fails = number % 11 == 0;
  try {
    auto* first = static_cast<unsigned char*>(pool.allocate(bytes, alignment));
    if (reinterpret_cast<std::uintptr_t>(first) % alignment != 0) std::abort();
    const auto value = static_cast<unsigned char>(number);
    std::memset(first, value, bytes);
    state.blocks.push_back({first, bytes, alignment, value});
    state.large += is_large(state.blocks.back());
  } catch (const std::bad_alloc&) {
    if (!upstream.fails) std::abort();
  }
  upstream.fails = false;
}

void give(heapwright::node_pool& pool, State& state, std::size_t index) {
  const Block block = state.blocks[index];
  if (!std::all_of(block.first, block.first + block.bytes, [&](auto b) { return b == block.value; })) {
    std::abort();
  }
  state.large -= is_large(block);
  state.blocks[index] = state.blocks.back();
  state.blocks.pop_back();
  pool.deallocate(block.first, block.bytes, block.alignment);
}

void give_some(heapwright::node_pool& pool, State& state, unsigned number) {
  for (unsigned count = number % 40; count != 0 && !state.blocks.empty(); --count) {
    give(pool, state, number * 7919 % state.blocks.size());
  }
}

void check(const heapwright::node_pool& pool, const Upstream& upstream, const State& state) {
  const heapwright::node_pool_statistics found = pool.statistics();
  if (found.large_blocks != state.large || found.live_blocks != state.blocks.size() - state.large) {
    std::abort();
  }
  if (found.retained_bytes > upstream.live_bytes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Upstream upstream;
  {
    heapwright::node_pool pool({.page_bytes = 4096, .upstream = &upstream});
    State state;
    for (std::size_t i = 0; i + 2 < std::min<std::size_t>(size, 3000); i += 3) {
      const unsigned number = data[i + 1] + 256U * data[i + 2];
      const unsigned kind = data[i];
      if (kind % 8 < 5) {
        for (unsigned n = 0; n < 1 + kind % 5 * 4; ++n) take(pool, upstream, state, kind, number + n * 9);
      } else if (kind % 8 < 7) {
        give_some(pool, state, number);
      } else if (kind < 250) {
        pool.shrink();
      } else {
        pool.release();
        state = {};
      }
      check(pool, upstream, state);
    }
    while (!state.blocks.empty()) give(pool, state, state.blocks.size() - 1);
    pool.shrink();
    if (upstream.live_bytes != 0) std::abort();
  }
  return 0;
}
