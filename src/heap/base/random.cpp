// SPDX-License-Identifier: MIT
#include "heap/base/random.hpp"

#include <sys/auxv.h>
#include <sys/random.h>

#include <atomic>
#include <cstring>

#include "heap/base/clock.hpp"
#include "platform/raw_syscall.hpp"

namespace heapwright::heap {

namespace {

// One-way enough that the result does not reveal the input, from which libc's own
// keys come, too.
std::uint64_t mix(std::uint64_t word) noexcept {
  word ^= word >> 32;
  word *= 0xd6e8feb86659fd93;
  word ^= word >> 32;
  word *= 0xd6e8feb86659fd93;
  return word ^ word >> 32;
}

constinit std::uint64_t word_keys[2] = {0, 0};
constinit std::atomic<std::uint64_t> words_made{0};

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

void draw_word_key() noexcept {
  for (std::uint64_t& key : word_keys) key = random_word();
}

// Two keys: one known word does not allow computing the others.
std::uint64_t next_word() noexcept {
  const std::uint64_t number = words_made.fetch_add(1, std::memory_order_relaxed);
  return mix(mix(word_keys[0] + number) ^ word_keys[1]);
}

}  // namespace heapwright::heap
