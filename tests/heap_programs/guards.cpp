// SPDX-License-Identifier: MIT
// Hardened mode: what cannot be reached, and what holds zeros. With an argument, of any
// mode: blocks of 0 bytes, and the default mode's sample of large blocks.
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <thread>

#include "public_names.hpp"

namespace {

int pipe_ends[2];

// The kernel reads the byte for us, and says so if it cannot.
bool can_read(const void* place) {
  const bool is_read = write(pipe_ends[1], place, 1) == 1;
  char byte = 0;
  if (is_read) REQUIRE(read(pipe_ends[0], &byte, 1) == 1);
  REQUIRE(is_read || errno == EFAULT);
  return is_read;
}

char* make(std::size_t bytes) {
  auto* block = static_cast<char*>(std::malloc(bytes));
  REQUIRE(block != nullptr);
  std::memset(block, 0x41, bytes);
  return block;
}

bool is_zero(const char* block, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    if (static_cast<const volatile char*>(block)[i] != 0) return false;
  }
  return true;
}

long page_faults() {
  rusage used{};
  REQUIRE(getrusage(RUSAGE_SELF, &used) == 0);
  return used.ru_minflt;
}

void check_large() {
  for (const std::size_t bytes : {std::size_t{70'000}, std::size_t{262'144}, std::size_t{20'000'000}}) {
    char* block = make(bytes);
    const std::size_t in_pages = (bytes + 4095) / 4096 * 4096;
    REQUIRE(can_read(block) && can_read(block + bytes - 1));
    REQUIRE(!can_read(block - 1) && !can_read(block + in_pages));
    std::free(block);
    REQUIRE(!can_read(block) && !can_read(block + bytes / 2));
  }
  for (int i = 0; i < 300; ++i) {
    char* block = make(100'000);
    std::free(block);
    REQUIRE(is_zero(static_cast<char*>(keep(std::calloc(1, 100'000))), 100'000));
    std::free(last_block);
  }
}

// Above 4 MiB realloc moves pages; but for every 33rd time, there are no faults for the others.
void check_grown() {
  constexpr std::size_t step = 65'536;
  std::size_t bytes = 100 * step;
  char* block = make(bytes);
  const long before = page_faults();
  for (; bytes < 400 * step; bytes += step) {
    char* const old = block;
    block = static_cast<char*>(std::realloc(old, bytes + step - 1));
    REQUIRE(block != nullptr && !can_read(old));
    REQUIRE(is_zero(block + bytes, step - 1));
    std::memset(block + bytes, 0x41, step - 1);
    REQUIRE(!can_read(block - 1) && !can_read(block + bytes + step));
    block = static_cast<char*>(std::realloc(block, bytes + step));
    block[bytes + step - 1] = 0x41;
  }
  REQUIRE(std::memchr(block, 0, bytes) == nullptr && block[0] == 0x41);
  REQUIRE(std::memcmp(block, block + 1, bytes - 1) == 0);
  REQUIRE(page_faults() - before < 300'000);  // 2.4 million, if each were copied
  std::free(block);
}

bool is_between_guards(const char* block, std::size_t bytes) {
  const std::size_t in_pages = (bytes + 4095) / 4096 * 4096;
  REQUIRE(can_read(block) && can_read(block + bytes - 1));
  return !can_read(block - 1) && !can_read(block - 65'536) && !can_read(block + in_pages);
}

// By default: the first 8 of a process, of which each stays out of reach until 8 more were freed. The C++
// library's start has made one of them.
void check_first_large() {
  constexpr std::size_t sizes[] = {70'000, 262'144, 1'048'576, 65'537};
  char* blocks[7];
  for (std::size_t i = 0; i < 7; ++i) {
    const std::size_t bytes = sizes[i % 4];
    blocks[i] = i % 3 == 2 ? static_cast<char*>(std::calloc(1, bytes)) : make(bytes);
    REQUIRE(is_between_guards(blocks[i], bytes));
    if (i % 3 == 2) REQUIRE(is_zero(blocks[i], bytes));
  }
  for (char* block : blocks) std::free(block);
  for (char* block : blocks) REQUIRE(!can_read(block) && !can_read(block + 65'536));
}

// And one in 5000 of the others. What was written there before can be read by none.
void check_sampled_large() {
  int guarded = 0;
  for (int i = 0; i < 250'000; ++i) {
    auto* block = static_cast<char*>(std::malloc(100'000));
    const bool is_between = is_between_guards(block, 100'000);
    const bool is_untouched = is_between && is_zero(block, 100'000);
    *block = 1;
    std::free(block);
    if (can_read(block)) continue;  // another may lie beside a guard
    REQUIRE(is_between && is_untouched);
    ++guarded;
  }
  say("note %d of 250000 large blocks were guarded\n", guarded);
  REQUIRE(guarded >= 20 && guarded <= 80);
}

// Which of those that follow the first 8 are guarded.
void say_sampled() {
  check_first_large();
  for (int i = 0, found = 0; found < 4; ++i) {
    void* block = std::malloc(100'000);
    std::free(block);
    if (can_read(block)) continue;
    say("%d\n", i);
    ++found;
  }
}

// Nobody can know them.
void check_drawn_anew() {
  char said[2][64] = {};
  for (char(&of_run)[64] : said) {
    std::FILE* run = popen("/proc/$PPID/exe large say", "r");
    REQUIRE(run != nullptr && std::fread(of_run, 1, sizeof of_run, run) > 4);
    REQUIRE(pclose(run) == 0);
  }
  REQUIRE(std::memcmp(said[0], said[1], sizeof said[0]) != 0);
}

// The first block of a slab has nothing that can be reached before it.
void check_slabs() {
  char* lowest = nullptr;
  for (int i = 0; i < 15; ++i) {
    char* block = make(4000);
    if (lowest == nullptr || block < lowest) lowest = block;
  }
  bool ends = false;
  for (int i = 0; i < 16 && !ends; ++i) ends = !can_read(lowest - 4096 * i - 1);
  REQUIRE(ends);
}

void check_empty() {
  void* one = std::malloc(0);
  void* other = std::malloc(0);
  REQUIRE(one != nullptr && other != nullptr && one != other);
  REQUIRE(!can_read(one) && !can_read(other) && malloc_usable_size(one) == 0);
  auto* grown = static_cast<char*>(std::realloc(one, 100));
  REQUIRE(grown != nullptr && can_read(grown) && malloc_usable_size(grown) >= 100);
  std::free(grown);
  std::free(other);
  // More than there are places: the others are short blocks.
  static void* many[100'000];
  for (void*& block : many) REQUIRE((block = std::malloc(0)) != nullptr);
  for (void* block : many) std::free(block);
  // All places are there again.
  void* last = std::malloc(0);
  REQUIRE(!can_read(last));
  std::free(last);
}

// Whatever was allocated before, a block of 0 bytes does not come from its list.
void check_empty_after_short() {
  for (int i = 0; i < 2000; ++i) {
    void* first = make(8);
    void* second = make(8);
    std::free(first);
    void* empty = std::malloc(0);
    void* other = std::calloc(0, 8);
    REQUIRE(!can_read(empty) && !can_read(other) && empty != other);
    std::free(empty);
    std::free(other);
    std::free(second);
  }
}

// No place is given to two.
void check_empty_in_threads() {
  constexpr int count = 5000;
  static void* blocks[4][count];
  std::thread threads[4];
  for (int i = 0; i < 4; ++i) {
    threads[i] = std::thread([mine = blocks[i]] {
      for (int k = 0; k < count; ++k) mine[k] = std::malloc(0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  // A place that two have would be freed twice, which stops the process.
  for (auto& mine : blocks) {
    for (void* block : mine) {
      REQUIRE(!can_read(block));
      std::free(block);
    }
  }
}

// Of a heap that is small yet, the end is near.
void check_end() {
  for (const std::size_t bytes : {8, 4096, 256 * 1024}) {
    char* block = make(bytes);
    REQUIRE(!can_read(block + bytes + (1 << 20)));
    std::free(block);
  }
}

void check_zeros() {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{24}, std::size_t{500}, std::size_t{9000}}) {
    char* block = make(bytes);
    std::free(block);
    REQUIRE(!can_read(block) || is_zero(block, bytes));
    for (int i = 0; i < 10'000; ++i) {
      block = static_cast<char*>(keep(std::malloc(bytes)));
      REQUIRE(is_zero(block, bytes));
      std::memset(block, 0x42, bytes);
      std::free(block);
    }
  }
}

// One short block in some thousands ends where nothing can be reached.
void check_samples() {
  int at_a_guard = 0;
  for (int i = 0; i < 200'000; ++i) {
    char* block = make(112);
    char* const behind = block + 112;
    if (reinterpret_cast<std::uintptr_t>(behind) % 4096 == 0 && !can_read(behind)) {
      ++at_a_guard;
      std::free(block);
      REQUIRE(!can_read(block));
    } else {
      std::free(block);
    }
  }
  say("note %d of 200000 at a guard\n", at_a_guard);
  REQUIRE(at_a_guard >= 5);
}

}  // namespace

int main(int count, char** words) {
  REQUIRE(pipe(pipe_ends) == 0);
  if (count > 2) {
    say_sampled();
    return 0;
  }
  if (count > 1 && std::strcmp(words[1], "large") == 0) {
    check_first_large();
    check_sampled_large();
    check_drawn_anew();
    require_valid();
    say("done\n");
    return 0;
  }
  if (is_preloaded()) check_end();
  check_empty_after_short();
  check_empty_in_threads();
  check_empty();
  if (count == 1) {
    check_large();
    check_grown();
    check_slabs();
    check_zeros();
    check_samples();
  }
  require_valid();
  say("done\n");
  return 0;
}
