// SPDX-License-Identifier: MIT
// Where random numbers of a test begin: elsewhere each time, or where HEAPWRIGHT_TEST_SEED says.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>

inline std::uint64_t test_seed() {
  static const std::uint64_t seed = [] {
    const char* given = std::getenv("HEAPWRIGHT_TEST_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : std::uint64_t{std::random_device{}()};
  }();
  return seed;
}
