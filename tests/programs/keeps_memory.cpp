// SPDX-License-Identifier: MIT
// Frees most of what it took, in a way whose cause is known: one of
//
//   pinned      a survivor on each page among temporaries of another site
//   apart       the same, the survivors in a mapping of their own
//   alike       a survivor among 19 temporaries of its size, which are freed two seconds before the end
//   alike_apart the same, the survivors in a mapping of their own
//   shared      survivors of four sites together on each page
//   no_shared   the same, the survivors in a mapping of their own
//   mixed       one site makes what stays and what goes, at random
//   threshold   a free of one large block, after which large blocks come from the heap
//   arenas      threads that each kept one block at the end of their arena
//   option      mallopt raises the trim threshold, then all is freed
//   no_option   the same without mallopt
//   aligned     blocks of 100 bytes, each aligned to a page
//
// and prints how much of it is resident: as it is, and after malloc_trim(0).
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr int pages = 10'000;
constexpr int temporaries = 9;  // of 432 bytes each; with a survivor of 208 they make a page
constexpr int large_blocks = 12;
constexpr int threads = 6;
constexpr int blocks_of_thread = 20'000;

void* touched(void* memory, std::size_t bytes) {
  std::memset(memory, 1, bytes);
  return memory;
}

char* own_room = nullptr;

void say_resident(const char* word) {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  if (file == nullptr) std::exit(1);
  char line[256];
  long kilobytes = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "RssAnon: %ld", &kilobytes) == 1) break;
  }
  std::fclose(file);
  std::printf("note %s %ld\n", word, kilobytes * 1024);
}

}  // namespace

extern "C" {

__attribute__((noinline)) void* survivor() {
  if (own_room == nullptr) return touched(std::malloc(200), 200);
  own_room += 208;
  return touched(own_room - 208, 200);
}

// Four sites, a quarter of a survivor each; a different line for each keeps them apart.
__attribute__((noinline)) void* part_of_survivor(int part) {
  if (own_room != nullptr) {
    own_room += 64;
    return touched(own_room - 64, 50);
  }
  switch (part) {
    case 0:
      return touched(std::malloc(50), 50);
    case 1:
      return touched(std::malloc(51), 50);
    case 2:
      return touched(std::malloc(52), 50);
    default:
      return touched(std::malloc(53), 50);
  }
}

__attribute__((noinline)) void* temporary() { return touched(std::malloc(424), 424); }

__attribute__((noinline)) void* alike_temporary() { return touched(std::malloc(200), 200); }

__attribute__((noinline)) void* record() { return touched(std::malloc(600), 600); }

__attribute__((noinline)) void* first_buffer() { return touched(std::malloc(8 * mebibyte), 8 * mebibyte); }

__attribute__((noinline)) void* buffer() { return touched(std::malloc(4 * mebibyte), 4 * mebibyte); }

__attribute__((noinline)) void* entry() { return touched(std::malloc(64), 64); }

__attribute__((noinline)) void* aligned_block() { return touched(std::aligned_alloc(4096, 100), 100); }

__attribute__((noinline)) void* block_of_thread() { return touched(std::malloc(1000), 1000); }
}

namespace {

void take_own_room() {
  own_room = static_cast<char*>(
      mmap(nullptr, pages * 256, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

void pin_alike(bool is_apart) {
  if (is_apart) take_own_room();
  std::vector<void*> kept(pages);
  std::vector<void*> freed(pages * 19);
  std::size_t made = 0;
  for (void*& block : kept) {
    for (int index = 0; index < 19; ++index) freed[made++] = alike_temporary();
    block = survivor();
  }
  for (void* block : freed) std::free(block);
  usleep(2'000'000);  // an allocator that gives back later has done so
}

void pin(bool is_apart, bool is_shared) {
  if (is_apart) take_own_room();
  std::vector<void*> kept;
  kept.reserve(4 * pages);
  std::vector<void*> freed(pages * temporaries);
  for (int page = 0; page < pages; ++page) {
    for (int index = 0; index < temporaries; ++index) freed[page * temporaries + index] = temporary();
    if (!is_shared) kept.push_back(survivor());
    for (int part = 0; part < (is_shared ? 4 : 0); ++part) kept.push_back(part_of_survivor(part));
  }
  for (void* block : freed) std::free(block);
  usleep(300'000);
}

void mix() {
  std::vector<void*> blocks(80'000);
  for (void*& block : blocks) block = record();
  unsigned seed = 1;
  for (void* block : blocks) {
    seed = seed * 1664525U + 1013904223U;
    if ((seed >> 16) % 10 != 0) std::free(block);
  }
  usleep(300'000);
}

void fill_and_free(bool sets_option) {
  if (sets_option) mallopt(M_TRIM_THRESHOLD, 512 << 20);
  std::vector<void*> blocks(80'000);
  for (void*& block : blocks) block = record();
  for (void* block : blocks) std::free(block);
  usleep(300'000);
}

void align() {
  for (int index = 0; index < 2000; ++index) aligned_block();
  usleep(300'000);
}

void raise_threshold() {
  std::free(first_buffer());
  std::vector<void*> buffers;
  for (int index = 0; index < large_blocks; ++index) {
    buffers.push_back(buffer());
    entry();
  }
  for (void* block : buffers) std::free(block);
  usleep(300'000);
}

void fill_arena() {
  std::vector<void*> blocks(blocks_of_thread);
  for (void*& block : blocks) block = block_of_thread();
  for (int index = 0; index + 1 < blocks_of_thread; ++index) std::free(blocks[index]);
}

void use_arenas() {
  std::vector<std::thread> running;
  for (int index = 0; index < threads; ++index) {
    running.emplace_back([] {
      fill_arena();
      usleep(500'000);
    });
  }
  for (auto& thread : running) thread.join();
  usleep(300'000);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view mode = count > 1 ? arguments[1] : "";
  if (mode == "pinned" || mode == "apart") {
    pin(mode == "apart", false);
  } else if (mode == "alike" || mode == "alike_apart") {
    pin_alike(mode == "alike_apart");
  } else if (mode == "shared" || mode == "no_shared") {
    pin(mode == "no_shared", true);
  } else if (mode == "mixed") {
    mix();
  } else if (mode == "threshold") {
    raise_threshold();
  } else if (mode == "arenas") {
    use_arenas();
  } else if (mode == "option" || mode == "no_option") {
    fill_and_free(mode == "option");
  } else if (mode == "aligned") {
    align();
  } else {
    return 2;
  }
  say_resident("resident");
  malloc_trim(0);
  say_resident("trimmed");
  return 0;
}
