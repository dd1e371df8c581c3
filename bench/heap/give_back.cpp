// SPDX-License-Identifier: MIT
// How much memory is with a process after most of it was freed, and what giving it back costs its calls:
//   give_back idle|paced|bursts MEGABYTES
// Blocks of 1000 bytes, 6 of 64 stay. Then for 10 s: nothing; a call every 20 us; 20,000 calls every 100 ms.
// A call frees one of 10,000 blocks or makes it anew, of 16 to 1015 bytes. Prints resident KiB before the
// frees and 0, 2, 5, 10 s after them, KiB of the pages that hold a block or a pointer to one, then ns of a
// call: p50, p99.9, p99.99, most.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "resident.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

bool is_kept(std::size_t block) { return block % 64 < 6; }

class Calls {
 public:
  explicit Calls(std::size_t most) : blocks_(10'000) { times_ns_.reserve(most); }

  void one() {
    state_ = state_ * 6364136223846793005UL + 1442695040888963407UL;
    char*& block = blocks_[(state_ >> 33U) % blocks_.size()];
    const auto begin = Clock::now();
    if (block != nullptr) {
      std::free(block);
      block = nullptr;
    } else {
      block = static_cast<char*>(std::malloc(16 + (state_ >> 50U) % 1000));
    }
    times_ns_.push_back(static_cast<unsigned>((Clock::now() - begin).count()));
    if (block != nullptr) *block = 1;
  }
  void print() {
    if (times_ns_.empty()) return;
    std::sort(times_ns_.begin(), times_ns_.end());
    const auto at = [&](double share) {
      return times_ns_[static_cast<std::size_t>(share * static_cast<double>(times_ns_.size() - 1))];
    };
    std::printf(" %u %u %u %u", at(0.5), at(0.999), at(0.9999), at(1));
  }

 private:
  std::vector<char*> blocks_;
  std::vector<unsigned> times_ns_;
  unsigned long state_ = 1;
};

// The least that the load can leave resident, where a block stays in its place.
std::size_t page_floor_kib(const std::vector<void*>& blocks, std::size_t kept_bytes) {
  const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  std::vector<std::uintptr_t> pages;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!is_kept(i)) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(blocks[i]);
    for (auto page = begin / page_bytes; page <= (begin + kept_bytes - 1) / page_bytes; ++page) {
      pages.push_back(page);
    }
  }
  std::sort(pages.begin(), pages.end());
  const auto held = static_cast<std::size_t>(std::unique(pages.begin(), pages.end()) - pages.begin());
  return (held * page_bytes + blocks.size() * sizeof(void*)) / 1024;
}

void work_until(Clock::time_point end, std::string_view way, Calls& calls) {
  auto next = Clock::now();
  while (next < end) {
    if (way == "idle") {
      next = end;
    } else if (way == "paced") {
      calls.one();
      next += microseconds(20);
      while (Clock::now() < next) continue;
      continue;
    } else {
      for (int call = 0; call < 20'000; ++call) calls.one();
      next += milliseconds(100);
    }
    std::this_thread::sleep_until(next);
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 3) return 2;
  const std::string_view way = arguments[1];
  Calls calls(4'000'000);
  std::vector<void*> blocks(std::strtoul(arguments[2], nullptr, 10) * 1000);
  for (void*& block : blocks) {
    block = std::malloc(1000);
    std::memset(block, 1, 1000);
  }
  std::printf("%ld", resident_kib());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!is_kept(i)) std::free(blocks[i]);
  }
  const auto begin = Clock::now();
  std::printf(" %ld", resident_kib());
  for (const int after_s : {2, 5, 10}) {
    work_until(begin + seconds(after_s), way, calls);
    std::printf(" %ld", resident_kib());
  }
  std::printf(" %zu", page_floor_kib(blocks, 1000));
  calls.print();
  std::printf("\n");
  return 0;
}
