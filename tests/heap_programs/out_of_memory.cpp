// SPDX-License-Identifier: MIT
// Runs into limits of the address space and of the data size, several times:
// every call that fails says ENOMEM, std::bad_alloc or runs the new handler,
// and what was there before is whole and can be freed.
//   out_of_memory late    limits set when the heap is already in use
//   out_of_memory early   limits set before exec, so that the heap starts under them
//   out_of_memory purged  while freed memory is given back: what is on its way is not missing
#include <sys/resource.h>

#include <cstdint>
#include <new>

#include "public_names.hpp"

namespace {

constexpr std::size_t limit_bytes = std::size_t{512} << 20;
constexpr std::size_t most_blocks = 1 << 20;
void* blocks[most_blocks];

void limit(int resource, std::size_t bytes) {
  rlimit values{};
  REQUIRE(getrlimit(resource, &values) == 0);
  values.rlim_cur = bytes;
  REQUIRE(setrlimit(resource, &values) == 0);
}

std::size_t size_of(std::size_t round, std::size_t index) {
  constexpr std::size_t sizes[] = {700, 24, 5000, 40000, 300000, 20'000'000};
  return sizes[(round + index % 3) % 6];
}

void exhaust(std::size_t round) {
  std::size_t count = 0;
  errno = 0;
  for (; count < most_blocks; ++count) {
    const std::size_t bytes = size_of(round, count);
    blocks[count] = std::malloc(bytes);
    if (blocks[count] == nullptr) break;
    *static_cast<unsigned char*>(blocks[count]) = static_cast<unsigned char>(count);
  }
  REQUIRE(count > 10);
  if (count < most_blocks) REQUIRE(errno == ENOMEM);
  bool is_caught = false;
  try {
    keep(::operator new(limit_bytes * 2));
  } catch (const std::bad_alloc&) {
    is_caught = true;
  }
  REQUIRE(is_caught);
  REQUIRE(keep(std::realloc(blocks[0], limit_bytes * 2)) == nullptr);
  for (std::size_t i = 0; i < count; ++i) {
    REQUIRE(*static_cast<unsigned char*>(blocks[i]) == static_cast<unsigned char>(i));
  }
  for (std::size_t i = 0; i < count; ++i) std::free(blocks[i]);
  require_valid();
}

int handler_calls = 0;
void* reserve = nullptr;

void give_reserve() {
  ++handler_calls;
  std::free(reserve);
  reserve = nullptr;
  std::set_new_handler(nullptr);
}

void check_new_handler() {
  reserve = std::malloc(std::size_t{200} << 20);
  REQUIRE(reserve != nullptr);
  std::set_new_handler(give_reserve);
  void* held[1000];
  std::size_t count = 0;
  while (handler_calls == 0 && count < 1000) held[count++] = ::operator new (std::size_t{3} << 20);
  REQUIRE(handler_calls == 1);
  while (count > 0) ::operator delete(held[--count]);
}

// All that the limit allows, in pieces and nearly as a whole in turn.
void reuse_under_limit() {
  constexpr std::size_t piece_bytes = std::size_t{8} << 20;
  for (std::size_t round = 0; round < 2000; ++round) {
    std::size_t count = 0;
    while ((blocks[count] = std::malloc(piece_bytes)) != nullptr) std::memset(blocks[count++], 1, 1);
    REQUIRE(count > 40);
    for (std::size_t i = 0; i < count; ++i) std::free(blocks[i]);
    // The heap itself needed a little between the first ones.
    void* whole = keep(std::malloc((count - 2) * piece_bytes));
    REQUIRE(whole != nullptr);
    std::free(whole);
  }
}

void run_under_limits() {
  for (std::size_t round = 0; round < 6; ++round) exhaust(round);
  check_new_handler();
}

}  // namespace

int main(int argc, char** argv) {
  REQUIRE(argc >= 2);
  if (std::strcmp(argv[1], "limited") == 0) {
    run_under_limits();
  } else if (std::strcmp(argv[1], "early") == 0) {
    limit(RLIMIT_AS, limit_bytes);
    char limited[] = "limited";
    char* arguments[] = {argv[0], limited, nullptr};
    execv("/proc/self/exe", arguments);
    REQUIRE(false);
  } else {
    void* before = keep(std::malloc(1000));
    std::memset(before, 7, 1000);
    limit(RLIMIT_DATA, limit_bytes);
    std::strcmp(argv[1], "purged") == 0 ? reuse_under_limit() : run_under_limits();
    REQUIRE(*static_cast<unsigned char*>(before) == 7);
    std::free(before);
  }
  say("done\n");
  return 0;
}
