// SPDX-License-Identifier: MIT
// The heap on a kernel with larger pages, of PAGE_BYTES: getauxval() says so,
// and page requests from the heap's library are answered as such a kernel does.
// An address that is no multiple is refused; a length is rounded up, so that
// what is dropped or protected too far is really gone.
#include <dlfcn.h>
#include <elf.h>
#include <malloc.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <cstring>

#include "page_request_trap.hpp"

extern "C" unsigned long __getauxval(unsigned long type) noexcept;
// In the place of the C library's, for the heap as well.
extern "C" unsigned long getauxval(unsigned long type) noexcept {
  return type == AT_PAGESZ ? PAGE_BYTES : __getauxval(type);
}

namespace {

constexpr long page_bytes = PAGE_BYTES;
volatile long requests = 0;
volatile long refused = 0;
const void* library = nullptr;

bool is_of_heap(const void* caller) {
  Dl_info found{};
  return library != nullptr && dladdr(caller, &found) != 0 && found.dli_fbase == library;
}

bool is_multiple(long address) { return address % page_bytes == 0; }
long rounded(long bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; }

// A place that such a kernel would choose.
long map_aligned(PageRequest& request) {
  request.arguments[1] += page_bytes;
  const long found = request.carry_out();
  return found < 0 ? found : rounded(found);
}

long answer(PageRequest& request) {
  if (!is_of_heap(request.caller)) return request.carry_out();
  requests = requests + 1;
  const bool is_placed =
      request.number != SYS_mmap || (request.arguments[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0;
  const bool is_move = request.number == SYS_mremap;
  if ((is_placed && !is_multiple(request.arguments[0])) || (is_move && !is_multiple(request.arguments[4]))) {
    refused = refused + 1;
    return -EINVAL;
  }
  request.arguments[1] = rounded(request.arguments[1]);
  if (is_move) request.arguments[2] = rounded(request.arguments[2]);
  return is_placed ? request.carry_out() : map_aligned(request);
}

struct Held {
  unsigned char* memory;
  std::size_t bytes;
  unsigned char fill;
};
constexpr std::size_t slots = 3000;
Held held[slots];

std::uint32_t random_state = 1;
std::uint32_t draw() {
  random_state = random_state * 1664525 + 1013904223;
  return random_state >> 8;
}

std::size_t draw_size() {
  const std::uint32_t kind = draw() % 100;
  if (kind < 60) return 1 + draw() % 2000;
  if (kind < 97) return 1 + draw() % 60000;
  return 1 + draw() % 5'000'000;
}

void fill(Held& slot) {
  slot.fill = static_cast<unsigned char>(draw());
  std::memset(slot.memory, slot.fill, slot.bytes);
}

void require_filled(const Held& slot, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += 509) REQUIRE(slot.memory[at] == slot.fill);
  REQUIRE(slot.memory[bytes - 1] == slot.fill);
}

void step(Held& slot) {
  if (slot.memory == nullptr) {
    slot.bytes = draw_size();
    slot.memory =
        static_cast<unsigned char*>(draw() % 4 == 0 ? std::calloc(1, slot.bytes) : std::malloc(slot.bytes));
    REQUIRE(slot.memory != nullptr);
  } else if (draw() % 4 == 0) {
    const std::size_t kept = slot.bytes;
    slot.bytes = draw_size();
    slot.memory = static_cast<unsigned char*>(std::realloc(slot.memory, slot.bytes));
    REQUIRE(slot.memory != nullptr);
    require_filled(slot, kept < slot.bytes ? kept : slot.bytes);
  } else {
    require_filled(slot, slot.bytes);
    std::free(slot.memory);
    slot = {};
    return;
  }
  fill(slot);
}

void free_all_but(std::size_t every) {
  for (std::size_t i = 0; i < slots; ++i) {
    if (held[i].memory == nullptr || (every != 0 && i % every == 0)) continue;
    require_filled(held[i], held[i].bytes);
    std::free(held[i].memory);
    held[i] = {};
  }
}

// Pages of sparse slabs are dropped, and what lives in others stays.
void check_rounds() {
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 30000; ++i) step(held[draw() % slots]);
    free_all_but(10);
    malloc_trim(0);
    for (const Held& slot : held) {
      if (slot.memory != nullptr) require_filled(slot, slot.bytes);
    }
    require_valid();
  }
  free_all_but(0);
  malloc_trim(0);
}

void check_page_functions() {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{5000}, std::size_t{100'000}}) {
    void* block = valloc(bytes);
    REQUIRE(reinterpret_cast<std::uintptr_t>(block) % page_bytes == 0);
    std::free(block);
    block = pvalloc(bytes);
    REQUIRE(reinterpret_cast<std::uintptr_t>(block) % page_bytes == 0);
    REQUIRE(malloc_usable_size(block) >= static_cast<std::size_t>(rounded(static_cast<long>(bytes))));
    std::free(block);
  }
}

}  // namespace

int main() {
  Dl_info heap{};
  if (is_preloaded() && dladdr(reinterpret_cast<void*>(&heapwright_heap_is_valid), &heap) != 0) {
    library = heap.dli_fbase;
  }
  answer_page_request = answer;
  trap_page_requests();
  check_rounds();
  if (is_preloaded()) check_page_functions();
  say("done\nnote %ld of %ld requests refused\n", refused, requests);
  REQUIRE(refused == 0);
  REQUIRE(!is_preloaded() || requests > 20);
  return 0;
}
