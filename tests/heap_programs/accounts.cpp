// SPDX-License-Identifier: MIT
// What the heap says about itself: mallinfo2, malloc_info, malloc_stats and
// malloc_trim agree with what the program did; private heaps as well.
#include <malloc.h>

#include <string>
#include <thread>
#include <vector>

#include "public_names.hpp"

namespace {

std::size_t in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

std::size_t resident_bytes() {
  FILE* file = std::fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  REQUIRE(file != nullptr && std::fscanf(file, "%*u %lu", &pages) == 1);
  std::fclose(file);
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::vector<void*> make_blocks(std::size_t count, std::size_t bytes) {
  std::vector<void*> blocks(count);
  for (void*& block : blocks) {
    block = std::malloc(bytes);
    REQUIRE(block != nullptr);
    std::memset(block, 1, bytes);
  }
  return blocks;
}

void free_blocks(std::vector<void*>& blocks) {
  for (void* block : blocks) std::free(block);
  blocks.clear();
}

// Live bytes follow allocations; what a thread holds ready counts as free.
void check_mallinfo() {
  struct Load {
    std::size_t count;
    std::size_t bytes;
  };
  for (const Load& load : {Load{20000, 100}, Load{3000, 5000}, Load{100, 300000}}) {
    free_blocks(*new std::vector<void*>(make_blocks(10, load.bytes)));
    const std::size_t before = in_use();
    std::vector<void*> blocks = make_blocks(load.count, load.bytes);
    const std::size_t grown = in_use() - before;
    const std::size_t asked = load.count * load.bytes;
    REQUIRE(grown >= asked && grown < asked + asked / 4 + 300000);
    free_blocks(blocks);
    REQUIRE(in_use() < before + 300000);
  }
}

void check_documents() {
  char* text = nullptr;
  std::size_t length = 0;
  FILE* stream = open_memstream(&text, &length);
  REQUIRE(malloc_info(0, stream) == 0);
  REQUIRE(std::fclose(stream) == 0);
  const std::string document(text, length);
  std::free(text);
  REQUIRE(document.rfind("<malloc version=", 0) == 0);
  REQUIRE(document.find("</malloc>") != std::string::npos);
  REQUIRE(malloc_info(1, stdout) != 0);
  malloc_stats();
  mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

void check_trim() {
  std::vector<void*> blocks = make_blocks(60000, 2000);
  for (std::size_t i = 0; i < 100; ++i) blocks.push_back(make_blocks(1, 1'000'000)[0]);
  const std::size_t full = resident_bytes();
  free_blocks(blocks);
  malloc_trim(0);
  const std::size_t trimmed = resident_bytes();
  REQUIRE(trimmed + 150'000'000 < full);
  malloc_trim(0);
}

void check_own_heap() {
  if (!is_preloaded()) return;
  std::vector<void*> blocks(1000);
  heapwright_heap_statistics before{};
  REQUIRE(heapwright_heap_get_statistics(nullptr, &before) == 0);
  heapwright_heap* heap = heapwright_heap_create("accounts");
  REQUIRE(heap != nullptr);
  std::thread([&] {
    for (void*& block : blocks) block = heapwright_heap_allocate(heap, 1000, 16);
  }).join();
  heapwright_heap_statistics sums{};
  REQUIRE(heapwright_heap_get_statistics(heap, &sums) == 0);
  REQUIRE(sums.live_blocks == 1000);
  REQUIRE(sums.live_bytes >= 1'000'000 && sums.live_bytes < 1'100'000);
  for (std::size_t i = 0; i < 500; ++i) std::free(blocks[i]);
  std::thread([&] {
    for (std::size_t i = 500; i < 900; ++i) heapwright_heap_free(heap, blocks[i]);
  }).join();
  REQUIRE(heapwright_heap_get_statistics(heap, &sums) == 0);
  REQUIRE(sums.live_blocks == 100);
  for (int i = 0; i < 3; ++i) REQUIRE(heapwright_heap_allocate(heap, 5'000'000, 16) != nullptr);
  std::free(heapwright_heap_allocate(heap, 1'000'000, 16));
  REQUIRE(heapwright_heap_get_statistics(heap, &sums) == 0);
  REQUIRE(sums.live_blocks == 103 && sums.large_bytes >= 15'000'000 && sums.large_bytes < 15'100'000);
  // The heap takes along what was never freed.
  heapwright_heap_destroy(heap);
  while (heapwright_heap_maintain(1000) == 1000) {
  }
  REQUIRE(heapwright_heap_get_statistics(nullptr, &sums) == 0);
  REQUIRE(sums.live_bytes < before.live_bytes + 100'000);
  REQUIRE(sums.slab_bytes <= before.slab_bytes + 200'000);
  require_valid();
}

}  // namespace

int main() {
  check_mallinfo();
  check_documents();
  check_trim();
  check_own_heap();
  say("done\n");
  return 0;
}
