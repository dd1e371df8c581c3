// SPDX-License-Identifier: MIT
// Every way that a block can be made, moved, asked for its size and given back, by threads that take each
// other's blocks, while others fork and load libraries. Functions in_... are for remedies; the same blocks
// are also made elsewhere. Each block is filled and checked. Arguments: rounds, and a library that has
// plugin_allocate() ("": none is loaded). Prints how often each way was gone that shares a function.
#include <alloca.h>
#include <dlfcn.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t slot_count = 256;

struct Block {
  unsigned char* begin;
  std::size_t bytes;
  unsigned char fill;
  bool is_new;  // of operator new[]
};

std::array<std::atomic<Block*>, slot_count> slots;
std::atomic<unsigned long> checked{0};
std::atomic<unsigned long> wrong{0};

void require(bool holds, const char* what) {
  checked.fetch_add(1);
  if (holds) return;
  wrong.fetch_add(1);
  std::fprintf(stderr, "failed: %s\n", what);
}

std::uint64_t next_number(std::uint64_t& state) {
  state ^= state << 13U;
  state ^= state >> 7U;
  state ^= state << 17U;
  return state;
}

[[gnu::noinline]] void* in_plain(std::size_t bytes) { return std::malloc(bytes); }
[[gnu::noinline]] void* in_zeroed(std::size_t bytes) { return std::calloc(1, bytes); }
[[gnu::noinline]] void* in_moved(void* block, std::size_t bytes) { return std::realloc(block, bytes); }
[[gnu::noinline]] void* in_aligned(std::size_t alignment, std::size_t bytes) {
  void* block = nullptr;
  return posix_memalign(&block, alignment, bytes) == 0 ? block : nullptr;
}
[[gnu::noinline]] unsigned char* in_new(std::size_t bytes) { return new unsigned char[bytes]; }
[[gnu::noinline]] void* in_large(std::size_t bytes) { return std::malloc(bytes); }
[[gnu::noinline]] void* elsewhere(std::size_t bytes) { return std::malloc(bytes); }
[[gnu::noinline]] void* moved_elsewhere(void* block, std::size_t bytes) { return std::realloc(block, bytes); }

// Told apart by their second frame alone; that of the last has a size known only when it runs.
enum Way { one_way, other_way, odd_way, way_count };
std::array<std::atomic<unsigned long>, way_count> ways;
[[gnu::noinline]] void* shared_alloc(std::size_t bytes) { return std::malloc(bytes); }
[[gnu::noinline]] void* in_one_way(std::size_t bytes) {
  ways[one_way].fetch_add(1);
  return shared_alloc(bytes);
}
[[gnu::noinline]] void* in_other_way(std::size_t bytes) {
  ways[other_way].fetch_add(1);
  return shared_alloc(bytes);
}
[[gnu::noinline]] void* in_odd_frame(std::size_t bytes) {
  auto* odd = static_cast<unsigned char*>(alloca(bytes % 500 + 1));
  std::memset(odd, 1, bytes % 500 + 1);
  ways[odd_way].fetch_add(1);
  void* block = shared_alloc(bytes);
  odd[bytes % 500] = 2;
  asm volatile("" : : "r"(odd) : "memory");
  return block;
}
[[gnu::noinline]] std::string in_text(std::size_t bytes) { return std::string(bytes, 't'); }

Block* filled(void* begin, std::size_t bytes, unsigned char fill, bool is_new = false) {
  require(begin != nullptr, "a block");
  std::memset(begin, fill, bytes);
  return new Block{static_cast<unsigned char*>(begin), bytes, fill, is_new};
}

bool is_whole(const Block& block) {
  for (std::size_t at = 0; at < block.bytes; ++at) {
    if (block.begin[at] != block.fill) return false;
  }
  return true;
}

bool is_zeroed(const void* begin, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; ++at) {
    if (static_cast<const unsigned char*>(begin)[at] != 0) return false;
  }
  return true;
}

Block* make(std::uint64_t& state) {
  const std::uint64_t number = next_number(state);
  const std::size_t bytes = 1 + (number >> 8U) % 3000;
  const auto fill = static_cast<unsigned char>(number >> 32U);
  switch (number % 11) {
    case 0:
      return filled(in_plain(bytes), bytes, fill);
    case 1: {
      void* begin = in_zeroed(bytes);
      require(is_zeroed(begin, bytes), "calloc gives zeros");
      return filled(begin, bytes, fill);
    }
    case 2: {
      const std::size_t alignment = std::size_t{16} << (number >> 40U) % 9;
      void* begin = in_aligned(alignment, bytes);
      require(reinterpret_cast<std::uintptr_t>(begin) % alignment == 0, "an aligned block");
      return filled(begin, bytes, fill);
    }
    case 3:
      return filled(in_new(bytes), bytes, fill, true);
    case 4: {
      const std::size_t large = 70'000 + bytes * 64;
      return filled(in_large(large), large, fill);
    }
    case 5:
      return filled(in_odd_frame(bytes), bytes, fill);
    case 6:
      return filled(in_moved(nullptr, bytes), bytes, fill);
    case 7: {
      const std::size_t large = bytes * 100;
      void* begin = in_zeroed(large);
      require(is_zeroed(begin, large), "calloc gives zeros");
      return filled(begin, large, fill);
    }
    case 8:
      return filled(in_one_way(bytes), bytes, fill);
    case 9:
      return filled(in_other_way(bytes), bytes, fill);
    default:
      return filled(elsewhere(bytes), bytes, fill);
  }
}

// Across heaps, both ways.
void move(Block& block, std::uint64_t& state) {
  if (block.is_new) return;
  const std::size_t bytes = 1 + next_number(state) % 5000;
  const std::size_t kept = bytes < block.bytes ? bytes : block.bytes;
  void* begin =
      next_number(state) % 2 == 0 ? in_moved(block.begin, bytes) : moved_elsewhere(block.begin, bytes);
  const Block moved{static_cast<unsigned char*>(begin), kept, block.fill, false};
  require(is_whole(moved), "realloc keeps what was there");
  std::memset(begin, block.fill, bytes);
  block.begin = moved.begin;
  block.bytes = bytes;
}

void give_back(Block* block) {
  if (block == nullptr) return;
  require(is_whole(*block), "a block as it was");
  require(malloc_usable_size(block->begin) >= block->bytes, "a usable size");
  if (block->is_new) {
    delete[] block->begin;
  } else {
    std::free(block->begin);
  }
  delete block;
}

void work(unsigned number, unsigned rounds) {
  std::uint64_t state = 88172645463325252U + number;
  for (unsigned round = 0; round < rounds; ++round) {
    Block* block = slots[next_number(state) % slot_count].exchange(make(state));
    if (block != nullptr && next_number(state) % 3 == 0) move(*block, state);
    give_back(block);
    const std::string text = in_text(40 + round % 100);
    require(text.size() >= 40, "a text");
  }
}

void fork_often(unsigned forks) {
  for (unsigned number = 0; number < forks; ++number) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);  // a child that waits for a lock ends
      work(number + 100, 50);
      _exit(wrong.load() == 0 ? 0 : 1);
    }
    int status = -1;
    require(child > 0 && waitpid(child, &status, 0) == child, "a child");
    require(status == 0, "a child that ends well");
  }
}

void load_often(const char* library, unsigned times) {
  for (unsigned number = 0; number < times; ++number) {
    void* handle = dlopen(library, RTLD_NOW | (number % 2 == 0 ? RTLD_DEEPBIND : 0));
    require(handle != nullptr, "a library");
    if (handle == nullptr) return;
    auto* allocate = reinterpret_cast<void* (*)()>(dlsym(handle, "plugin_allocate"));
    auto* release = reinterpret_cast<void (*)(void*)>(dlsym(handle, "plugin_release"));
    release(allocate());
    void* block = allocate();
    dlclose(handle);
    std::free(block);
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count < 3) return 2;
  const auto rounds = static_cast<unsigned>(std::atoi(arguments[1]));
  for (unsigned generation = 0; generation < 3; ++generation) {
    std::vector<std::thread> threads;
    for (unsigned number = 0; number < 4; ++number) threads.emplace_back(work, number, rounds);
    threads.emplace_back(fork_often, 10);
    if (*arguments[2] != '\0') threads.emplace_back(load_often, arguments[2], 20);
    for (std::thread& thread : threads) thread.join();
  }
  for (auto& slot : slots) give_back(slot.exchange(nullptr));
  require(checked.load() > rounds, "blocks");
  std::printf("%lu %lu %lu\n", ways[one_way].load(), ways[other_way].load(), ways[odd_way].load());
  return wrong.load() == 0 ? 0 : 1;
}
