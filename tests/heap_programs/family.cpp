// SPDX-License-Identifier: MIT
// Every function of the malloc family, over sizes around each class border:
// alignment, room, content, zeros, and that no two live blocks overlap.
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "public_names.hpp"

namespace {

constexpr std::size_t most_alignment = 1 << 20;

struct Span {
  unsigned char* begin;
  std::size_t bytes;
};

std::vector<std::size_t> interesting_sizes() {
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i <= 1100; ++i) sizes.push_back(i);
  for (std::size_t power = 2048; power <= (std::size_t{1} << 20); power *= 2) {
    for (std::size_t eighths = 8; eighths < 16; ++eighths) {
      const std::size_t at = power / 8 * eighths;
      for (std::size_t near : {at - 65, at - 1, at, at + 1, at + 63}) sizes.push_back(near);
    }
  }
  for (std::size_t bytes : {std::size_t{4'000'000}, std::size_t{20'000'001}, std::size_t{70'000'000}}) {
    sizes.push_back(bytes);
  }
  return sizes;
}

bool is_zero(const unsigned char* begin, std::size_t bytes) {
  return bytes == 0 || (begin[0] == 0 && std::memcmp(begin, begin + 1, bytes - 1) == 0);
}

void fill(const Span& span) {
  const auto seed = static_cast<unsigned char>(span.bytes * 7 + 1);
  for (std::size_t i = 0; i < span.bytes; i += 509) span.begin[i] = seed;
  if (span.bytes != 0) span.begin[span.bytes - 1] = seed;
}

void require_filled(const Span& span) {
  const auto seed = static_cast<unsigned char>(span.bytes * 7 + 1);
  for (std::size_t i = 0; i < span.bytes; i += 509) REQUIRE(span.begin[i] == seed);
  REQUIRE(span.bytes == 0 || span.begin[span.bytes - 1] == seed);
}

void require_disjoint(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < spans.size(); ++i) {
    REQUIRE(spans[i - 1].begin + std::max<std::size_t>(spans[i - 1].bytes, 1) <= spans[i].begin);
  }
}

void* allocate_by(int way, std::size_t bytes) {
  switch (way) {
    case 0:
      return std::malloc(bytes);
    case 1:
      return std::calloc(bytes, 1);
    case 2:
      return std::realloc(nullptr, bytes);
    case 3:
      return reallocarray(nullptr, bytes, 1);
    case 4:
      return ::operator new(bytes);
    case 5:
      return ::operator new[](bytes, std::nothrow);
    case 6:
      return ::operator new (bytes, std::align_val_t{64});
    case 7:
      return std::aligned_alloc(32, (bytes + 31) / 32 * 32);
    default:
      return memalign(8, bytes);
  }
}
constexpr int ways = 9;

void release_by(int way, void* block, std::size_t bytes) {
  switch (way) {
    case 4:
      return ::operator delete(block, bytes);
    case 5:
      return ::operator delete[](block);
    case 6:
      return ::operator delete (block, bytes, std::align_val_t{64});
    case 7:
      return free_aligned_sized_or_free(block, 32, (bytes + 31) / 32 * 32);
    default:
      return way % 2 == 0 ? std::free(block) : free_sized_or_free(block, bytes);
  }
}

std::size_t least_alignment(std::size_t bytes) { return bytes <= 8 ? 8 : 16; }

void check_each_way() {
  for (int way = 0; way < ways; ++way) {
    std::vector<Span> spans;
    std::size_t live_bytes = 0;
    for (const std::size_t bytes : interesting_sizes()) {
      auto* block = static_cast<unsigned char*>(keep(allocate_by(way, bytes)));
      REQUIRE(block != nullptr);
      REQUIRE(reinterpret_cast<std::uintptr_t>(block) % least_alignment(bytes) == 0);
      const std::size_t room = malloc_usable_size(block);
      REQUIRE(room >= bytes);
      if (way == 1) REQUIRE(is_zero(block, bytes));
      // All of the room is the program's.
      if (room > 0) block[room - 1] = 1;
      spans.push_back({block, bytes});
      fill(spans.back());
      live_bytes += bytes;
      if (live_bytes < (std::size_t{96} << 20)) continue;
      require_disjoint(spans);
      for (const Span& span : spans) require_filled(span);
      for (const Span& span : spans) release_by(way, span.begin, span.bytes);
      spans.clear();
      live_bytes = 0;
    }
    require_disjoint(spans);
    for (const Span& span : spans) require_filled(span);
    for (const Span& span : spans) release_by(way, span.begin, span.bytes);
  }
}

void check_alignments() {
  for (std::size_t alignment = sizeof(void*); alignment <= most_alignment; alignment *= 2) {
    std::vector<Span> spans;
    for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, alignment - 1, alignment, alignment + 1,
                              3 * alignment, std::size_t{100000}}) {
      void* block = nullptr;
      errno = 77;
      REQUIRE(posix_memalign(&block, alignment, bytes) == 0);
      REQUIRE(errno == 77);
      REQUIRE(reinterpret_cast<std::uintptr_t>(block) % alignment == 0);
      REQUIRE(malloc_usable_size(block) >= bytes);
      spans.push_back({static_cast<unsigned char*>(block), bytes});
      fill(spans.back());
    }
    require_disjoint(spans);
    for (Span& span : spans) {
      require_filled(span);
      // A realloc may lose the alignment, not the content.
      auto* moved = static_cast<unsigned char*>(std::realloc(span.begin, span.bytes + 70000));
      REQUIRE(moved != nullptr);
      require_filled({moved, span.bytes});
      std::free(moved);
    }
  }
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  void* whole = pvalloc(1);
  REQUIRE(reinterpret_cast<std::uintptr_t>(whole) % page == 0 && malloc_usable_size(whole) >= page);
  std::free(whole);
  void* aligned = valloc(100);
  REQUIRE(reinterpret_cast<std::uintptr_t>(aligned) % page == 0);
  std::free(aligned);
}

// calloc must zero what others have written before, whatever it reuses.
void check_zeros_after_use() {
  for (std::size_t bytes = 8; bytes <= (std::size_t{1} << 22); bytes = bytes * 3 / 2) {
    std::vector<unsigned char*> blocks(bytes > 100000 ? 4 : 64);
    for (int round = 0; round < 3; ++round) {
      for (auto& block : blocks) {
        block = static_cast<unsigned char*>(std::calloc(1, bytes));
        REQUIRE(block != nullptr);
        REQUIRE(is_zero(block, bytes));
        std::memset(block, 0xA5, malloc_usable_size(block));
      }
      for (auto* block : blocks) std::free(block);
    }
  }
}

void check_content(const unsigned char* block, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 251) REQUIRE(block[i] == static_cast<unsigned char>(i / 251));
}

// Grows and shrinks by odd amounts; a neighbour is there to be in the way.
void check_realloc() {
  auto* block = static_cast<unsigned char*>(std::malloc(1));
  std::size_t bytes = 1;
  block[0] = 0;
  unsigned random = 12345;
  for (int step = 0; step < 4000; ++step) {
    random = random * 1664525 + 1013904223;
    const std::size_t limit = step % 50 == 0 ? 9'000'000 : step % 7 == 0 ? 300'000 : 9000;
    const std::size_t wanted = 1 + (random >> 8) % limit;
    void* neighbour = step % 3 == 0 ? std::malloc(bytes) : nullptr;
    auto* moved = static_cast<unsigned char*>(std::realloc(block, wanted));
    REQUIRE(moved != nullptr && malloc_usable_size(moved) >= wanted);
    check_content(moved, std::min(bytes, wanted));
    for (std::size_t i = 0; i < wanted; i += 251) moved[i] = static_cast<unsigned char>(i / 251);
    block = moved;
    bytes = wanted;
    std::free(neighbour);
  }
  free_sized_or_free(block, bytes);
}

void check_nothing() {
  std::free(nullptr);
  ::operator delete(static_cast<void*>(nullptr));
  REQUIRE(malloc_usable_size(nullptr) == 0);
  // Each block of no bytes is a block of its own.
  void* one = std::malloc(0);
  void* other = std::malloc(0);
  REQUIRE(one != nullptr && other != nullptr && one != other);
  std::free(one);
  std::free(other);
  REQUIRE(std::realloc(std::malloc(10), 0) == nullptr);
}

}  // namespace

// As the C library answers, which a program may check before it starts.
void check_settings() {
  REQUIRE(mallopt(M_TRIM_THRESHOLD, 128 * 1024) == 1 && mallopt(M_TRIM_THRESHOLD, -1) == 1);
  REQUIRE(mallopt(M_TOP_PAD, 1 << 20) == 1 && mallopt(M_MMAP_MAX, 0) == 1);
  REQUIRE(mallopt(M_ARENA_MAX, 2) == 1 && mallopt(M_ARENA_TEST, 2) == 1);
  REQUIRE(mallopt(M_CHECK_ACTION, 3) == 1);
  REQUIRE(mallopt(M_MXFAST, 0) == 1 && mallopt(M_MXFAST, 160) == 1 && mallopt(M_MXFAST, 161) == 0);
  REQUIRE(mallopt(M_MMAP_THRESHOLD, 1 << 30) == 1);
  if (is_preloaded()) REQUIRE(mallopt(M_PERTURB, 1) == 0 && mallopt(12345, 1) == 0);
}

int main() {
  check_settings();
  check_nothing();
  check_each_way();
  check_alignments();
  check_zeros_after_use();
  check_realloc();
  say("done\n");
  return 0;
}
