// SPDX-License-Identifier: MIT
#include "heap/base/random.hpp"

#include <sys/auxv.h>
#include <sys/random.h>

#include <cstring>

#include "heap/base/clock.hpp"
#include "platform/raw_syscall.hpp"

namespace heapwright::heap {

namespace {

// One-way enough that what is made of the bytes that libc's own keys come from
// does not say what they are.
std::uint64_t mix(std::uint64_t word) noexcept {
  word ^= word >> 32;
  word *= 0xd6e8feb86659fd93;
  word ^= word >> 32;
  word *= 0xd6e8feb86659fd93;
  return word ^ word >> 32;
}

}  // namespace

std::uint64_t random_word() noexcept {
  std::uint64_t word = 0;
  const long got =
      platform::raw_syscall(SYS_getrandom, platform::raw_argument(&word), sizeof(word), GRND_NONBLOCK);
  if (got == static_cast<long>(sizeof(word))) return word;
  static std::uint64_t count = 0;
  std::uint64_t halves[2] = {0, 0};
  if (const auto* seed = reinterpret_cast<const void*>(getauxval(AT_RANDOM))) {
    std::memcpy(halves, seed, sizeof(halves));
  }
  return mix(mix(halves[0] + monotonic_ns()) + halves[1] + ++count);
}

}  // namespace heapwright::heap
