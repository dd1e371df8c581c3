// SPDX-License-Identifier: MIT
// Sizes of 0 and SIZE_MAX, products that overflow, alignments that are
// refused; errno and return values must be those of the real allocator.
#include <cerrno>
#include <cstdint>

#include "say.hpp"

namespace {

volatile std::size_t huge = SIZE_MAX;
volatile std::size_t none = 0;

void ask_for_nothing() {
  errno = 42;
  void* block = keep(std::malloc(none));
  REQUIRE(block != nullptr && errno == 42);
  std::free(block);
  std::free(keep(std::calloc(none, 3001)));
  std::free(nullptr);
  REQUIRE(errno == 42);
}

void ask_for_too_much() {
  errno = 0;
  REQUIRE(std::malloc(huge) == nullptr && errno == ENOMEM);
  errno = 0;
  REQUIRE(std::calloc(huge, 3) == nullptr && errno == ENOMEM);
  errno = 0;
  REQUIRE(std::calloc(1, huge) == nullptr && errno == ENOMEM);
  errno = 0;
  REQUIRE(reallocarray(nullptr, huge / 2, 3) == nullptr && errno == ENOMEM);
  errno = 0;
  REQUIRE(std::aligned_alloc(64, huge) == nullptr && errno == ENOMEM);
  say("failed 1 %zu malloc\nfailed 1 %zu aligned_alloc\n", static_cast<std::size_t>(huge),
      static_cast<std::size_t>(huge));
}

void ask_for_bad_alignment() {
  void* block = &block;
  errno = 42;
  REQUIRE(posix_memalign(&block, 3, 3011) == EINVAL && errno == 42);
  REQUIRE(posix_memalign(&block, 64, huge) == ENOMEM && block == &block);
  say("failed 1 3011 posix_memalign\n");
}

}  // namespace

int main() {
  ask_for_nothing();
  ask_for_too_much();
  ask_for_bad_alignment();
  return 0;
}
