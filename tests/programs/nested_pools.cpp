// SPDX-License-Identifier: MIT
// Three allocators inside one program: palloc, which is known by its name; hand_out, which is known by
// nothing but its callers; and a std::pmr resource. Whoever needs a piece when a block is used up makes them
// call malloc.
//
// Prints, for each function that asks, through whom and how many bytes of blocks were got for it.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory_resource>
#include <utility>

namespace {

struct Asking {
  const char* through;
  const char* function;
  int number;  // of the function's template; 0: none
  std::size_t bytes;
};

Asking all[16];
Asking* asking = all - 1;

void next(const char* through, const char* function, int number) {
  *++asking = {through, function, number, 0};
}

struct Block {
  Block* earlier;
  std::size_t used;
};

// The pools' own code.
[[gnu::noinline]] void* cut(Block*& current, std::size_t block_bytes, std::size_t size) {
  if (current == nullptr || current->used + size > block_bytes) {
    auto* fresh = static_cast<Block*>(std::malloc(block_bytes));
    asking->bytes += block_bytes;
    *fresh = {current, sizeof(Block)};
    current = fresh;
  }
  void* piece = reinterpret_cast<char*>(current) + current->used;
  current->used += size;
  return piece;
}

Block* context;
Block* pool;

}  // namespace

extern "C" [[gnu::noinline]] void* palloc(std::size_t size) { return cut(context, 8192, size); }
extern "C" [[gnu::noinline]] void* hand_out(std::size_t size) {
  if (pool == nullptr || pool->used + size > 65536) {
    auto* fresh = static_cast<Block*>(std::malloc(65536));
    asking->bytes += 65536;
    *fresh = {pool, sizeof(Block)};
    pool = fresh;
  }
  void* piece = reinterpret_cast<char*>(pool) + pool->used;
  pool->used += size;
  return piece;
}

template <int number>
[[gnu::noinline]] void reads() {
  next("palloc", "reads", number);
  for (int index = 0; index < 1000 * number; ++index) {
    *static_cast<int*>(palloc(48)) = index;
  }
}

template <int number>
[[gnu::noinline]] void takes() {
  next("hand_out", "takes", number);
  for (int index = 0; index < 1000 * number; ++index) {
    *static_cast<int*>(hand_out(64)) = index;
  }
}

// Counts what the resource gets.
class Counted : public std::pmr::memory_resource {
  void* do_allocate(std::size_t size, std::size_t) override {
    asking->bytes += size;
    return std::malloc(size);
  }
  void do_deallocate(void* block, std::size_t, std::size_t) override { std::free(block); }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

[[gnu::noinline]] void fills(std::pmr::memory_resource& resource) {
  next("std::pmr::monotonic_buffer_resource", "fills", 0);
  for (int index = 0; index < 2000; ++index) {
    *static_cast<int*>(resource.allocate(32)) = index;
  }
}

template <int... numbers>
void take_all(std::integer_sequence<int, numbers...>) {
  (takes<numbers + 1>(), ...);
}

int main() {
  Counted counted;
  std::pmr::monotonic_buffer_resource resource(&counted);
  reads<1>();
  reads<2>();
  take_all(std::make_integer_sequence<int, 10>());
  fills(resource);
  for (const auto* one = all; one <= asking; ++one) {
    std::printf(one->number == 0 ? "%zu %s %s\n" : "%zu %s %s<%d>\n", one->bytes, one->through, one->function,
                one->number);
  }
}
