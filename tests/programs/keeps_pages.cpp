// SPDX-License-Identifier: MIT
// Keeps whole pages in memory, or rounds much, for a cause that is known: one of
//
//   untrimmed   frees whole pages below survivors of many sites, and gives nothing back
//   reinflated  the same, given back by malloc_trim(0); then the kernel makes huge pages of what is left
//               (at once, by MADV_COLLAPSE)
//   inflated    the same, by khugepaged, which takes minutes; both want glibc.malloc.hugetlb=1
//   rounding    blocks of 25 bytes, each of which takes 48
//
// and prints how much of it is resident, and on huge pages.
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace {

constexpr int temporaries = 1200;
constexpr int temporaries_of_survivor = 6;
constexpr int small_blocks = 1'000'000;
constexpr std::uintptr_t huge_page = std::uintptr_t{2} << 20;
constexpr int collapse = 25;  // MADV_COLLAPSE, since Linux 6.1
constexpr int most_waits = 180;

void* touched(void* memory, std::size_t bytes) {
  std::memset(memory, 1, bytes);
  return memory;
}

long kernel_bytes(const char* format) {
  std::FILE* file = std::fopen("/proc/self/smaps_rollup", "r");
  if (file == nullptr) std::exit(1);
  char line[256];
  long kilobytes = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, format, &kilobytes) == 1) break;
  }
  std::fclose(file);
  return kilobytes * 1024;
}

long huge_bytes() { return kernel_bytes("AnonHugePages: %ld"); }

void say(const char* word) {
  std::printf("note %s %ld\nnote %s_huge %ld\n", word, kernel_bytes("Anonymous: %ld"), word, huge_bytes());
}

}  // namespace

extern "C" {

__attribute__((noinline)) void* temporary() { return touched(std::malloc(60'000), 60'000); }
__attribute__((noinline)) void* small() { return touched(std::malloc(25), 25); }
__attribute__((noinline)) void* survivor_0() { return touched(std::malloc(200), 200); }
__attribute__((noinline)) void* survivor_1() { return touched(std::malloc(204), 204); }
__attribute__((noinline)) void* survivor_2() { return touched(std::malloc(208), 208); }
__attribute__((noinline)) void* survivor_3() { return touched(std::malloc(212), 212); }
__attribute__((noinline)) void* survivor_4() { return touched(std::malloc(216), 216); }
__attribute__((noinline)) void* survivor_5() { return touched(std::malloc(220), 220); }
}

namespace {

void* (*const survivors[])() = {survivor_0, survivor_1, survivor_2, survivor_3, survivor_4, survivor_5};

// The survivors.
std::vector<void*> free_between() {
  std::vector<void*> kept;
  std::vector<void*> freed;
  for (int index = 0; index < temporaries; ++index) {
    freed.push_back(temporary());
    if (index % temporaries_of_survivor == 0) {
      kept.push_back(survivors[kept.size() % std::size(survivors)]());
    }
  }
  for (void* block : freed) std::free(block);
  return kept;
}

void collapse_around(const std::vector<void*>& kept) {
  std::uintptr_t last = 0;
  for (void* block : kept) {
    const auto begin = reinterpret_cast<std::uintptr_t>(block) & ~(huge_page - 1);
    // What the kernel refuses stays as it is: the notes tell.
    if (begin != last) madvise(reinterpret_cast<void*>(begin), huge_page, collapse);
    last = begin;
  }
}

void wait_for_khugepaged() {
  int waits = 0;
  for (; waits < most_waits && huge_bytes() < (32 << 20); ++waits) {
    usleep(1'000'000);
  }
  // What lasts for a small part of the run only is not worth a verdict.
  for (int rest = 0; rest < waits / 3; ++rest) usleep(1'000'000);
}

void reinflate(bool by_khugepaged) {
  const auto kept = free_between();
  malloc_trim(0);
  say("trimmed");
  usleep(400'000);
  if (by_khugepaged) {
    wait_for_khugepaged();
  } else {
    collapse_around(kept);
  }
  usleep(600'000);
  say("resident");
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view mode = count > 1 ? arguments[1] : "";
  if (mode == "untrimmed") {
    free_between();
    usleep(400'000);
    say("resident");
    malloc_trim(0);
    say("trimmed");
  } else if (mode == "reinflated" || mode == "inflated") {
    reinflate(mode == "inflated");
  } else if (mode == "rounding") {
    for (int index = 0; index < small_blocks; ++index) small();
    usleep(400'000);
    say("resident");
  } else {
    return 2;
  }
  return 0;
}
