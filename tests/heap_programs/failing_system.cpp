// SPDX-License-Identifier: MIT
// Every k-th mmap, mremap and mprotect of this process fails with ENOMEM, for
// many k: a call returns null or a good block, never anything else, and the
// heap stays whole.
#include <sys/mman.h>

#include <cstdint>

#include "page_request_trap.hpp"

namespace {

volatile long calls = 0;
volatile long failures = 0;
volatile long fail_every = 0;

long answer(PageRequest& request) {
  if (request.number == SYS_madvise || request.number == SYS_munmap) return request.carry_out();
  calls = calls + 1;
  if (fail_every != 0 && calls % fail_every == 0) {
    failures = failures + 1;
    if (request.number == SYS_mremap && (request.arguments[3] & MREMAP_FIXED) != 0) {
      // As the kernel, which has unmapped the place before it refuses.
      PageRequest first{SYS_munmap, {request.arguments[4], request.arguments[2]}, request.caller};
      REQUIRE(first.carry_out() == 0);
    }
    return -ENOMEM;
  }
  return request.carry_out();
}

struct Held {
  unsigned char* memory;
  std::size_t bytes;
};
constexpr std::size_t slots = 4000;
Held held[slots];

std::uint32_t random_state = 1;
std::uint32_t draw() {
  random_state = random_state * 1664525 + 1013904223;
  return random_state >> 8;
}

std::size_t draw_size() {
  const std::uint32_t kind = draw() % 100;
  if (kind < 60) return draw() % 2000;
  if (kind < 90) return draw() % 60000;
  if (kind == 99) return 4'000'000 + draw() % 8'000'000;
  return draw() % 3'000'000;
}

void write(Held& slot) {
  if (slot.bytes == 0) return;
  slot.memory[0] = static_cast<unsigned char>(slot.bytes);
  slot.memory[slot.bytes - 1] = static_cast<unsigned char>(slot.bytes);
}

void require_written(const Held& slot) {
  if (slot.bytes == 0) return;
  REQUIRE(slot.memory[slot.bytes - 1] == static_cast<unsigned char>(slot.bytes));
  REQUIRE(slot.bytes == 1 || slot.memory[0] == static_cast<unsigned char>(slot.bytes));
}

void step(Held& slot) {
  if (slot.memory == nullptr) {
    const std::size_t bytes = draw_size();
    void* memory = draw() % 4 == 0 ? std::calloc(1, bytes) : std::malloc(bytes);
    if (memory == nullptr) {
      REQUIRE(errno == ENOMEM);
      return;
    }
    slot = {static_cast<unsigned char*>(memory), bytes};
  } else if (draw() % 3 == 0) {
    require_written(slot);
    // Large ones stay large, so that their pages are moved.
    const bool grows = slot.bytes > 4'000'000 && draw() % 4 != 0;
    const std::size_t bytes = grows ? slot.bytes + draw() % 1'000'000 : 1 + draw_size();
    void* moved = std::realloc(slot.memory, bytes);
    if (moved == nullptr) return require_written(slot);
    if (slot.bytes > 1) {
      REQUIRE(*static_cast<unsigned char*>(moved) == static_cast<unsigned char>(slot.bytes));
    }
    slot = {static_cast<unsigned char*>(moved), bytes};
  } else {
    require_written(slot);
    std::free(slot.memory);
    slot = {};
  }
  write(slot);
}

void run(long every, int steps) {
  fail_every = every;
  for (int i = 0; i < steps; ++i) {
    errno = 0;
    step(held[draw() % slots]);
  }
  fail_every = 0;
  for (Held& slot : held) {
    if (slot.memory != nullptr) require_written(slot);
    std::free(slot.memory);
    slot = {};
  }
  require_valid();
}

}  // namespace

int main() {
  answer_page_request = answer;
  trap_page_requests();
  for (const long every : {1, 2, 3, 5, 7, 11, 17, 40}) run(every, 30000);
  say("done\nnote failures %ld of %ld\n", failures, calls);
  // Without a single failure this has shown nothing.
  REQUIRE(failures > 10);
  return 0;
}
