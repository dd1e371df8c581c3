// SPDX-License-Identifier: MIT
#include "record/sampling.hpp"

#include <sys/mman.h>

#include <atomic>

#include "platform/raw_syscall.hpp"
#include "platform/static_probe.hpp"

namespace heapwright::record {
namespace {

// Buckets of one cache line: a look-up never goes further, so that nothing
// has to mark where a probe may stop.
constexpr std::size_t bucket_slots = 8;
constexpr std::size_t bucket_count_log2 = 18;
constexpr std::size_t set_slots = bucket_slots << bucket_count_log2;
static_assert(bucket_slots << (bucket_count_log2 - alike_log2) < 256);

std::atomic<std::uintptr_t>* sampled_blocks;
double mean_sample_bytes;

std::atomic<std::uintptr_t>* bucket_of(const void* block) noexcept {
  return sampled_blocks + (hash_of(block) >> (64 - bucket_count_log2)) * bucket_slots;
}

std::atomic<std::uint8_t>& alike_of(const void* block) noexcept {
  return samples_alike[hash_of(block) >> (64 - alike_log2)];
}

std::uint64_t next_random(std::uint64_t& state) noexcept {  // splitmix64 (Steele, Lea, Flood 2014)
  std::uint64_t z = state += 0x9e3779b97f4a7c15ULL;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
  return z ^ z >> 31;
}

// Natural logarithm of x > 0 without libm: exponent * ln 2 + 2 atanh((m-1)/(m+1)),
// m in [1/sqrt 2, sqrt 2); six terms leave an error below 1e-9.
double logarithm(double x) noexcept {
  int exponent = 0;
  std::uint64_t bits = __builtin_bit_cast(std::uint64_t, x);
  exponent = static_cast<int>(bits >> 52) - 1023;
  bits = (bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL;
  double mantissa = __builtin_bit_cast(double, bits);
  if (mantissa > 1.4142135623730951) {
    mantissa *= 0.5;
    ++exponent;
  }
  const double t = (mantissa - 1.0) / (mantissa + 1.0);
  const double square = t * t;
  double sum = 0.0;
  for (int term = 13; term >= 1; term -= 2) sum = sum * square + 1.0 / term;
  return exponent * 0.6931471805599453 + 2.0 * t * sum;
}

std::int64_t draw_interval(std::uint64_t& state) noexcept {
  const double uniform = (static_cast<double>(next_random(state) >> 11) + 1.0) * 0x1.0p-53;  // (0, 1]
  return static_cast<std::int64_t>(-logarithm(uniform) * mean_sample_bytes) + 1;
}

}  // namespace

constinit std::atomic<std::uint8_t> samples_alike[1U << alike_log2]{};

bool prepare_sampling(std::uint64_t mean_bytes) noexcept {
  mean_sample_bytes = static_cast<double>(mean_bytes);
  const long memory =
      platform::raw_syscall(SYS_mmap, 0, set_slots * sizeof(std::uintptr_t), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  if (memory < 0 && memory > -4096) return false;
  sampled_blocks = reinterpret_cast<std::atomic<std::uintptr_t>*>(memory);
  return true;
}

bool end_interval(ThreadRecorder& thread, std::size_t size) noexcept {
  if (thread.bytes_to_sample == 0) {
    thread.bytes_to_sample = draw_interval(thread.random_state);
    return take_sample(thread, size);
  }
  // The interval, and one byte for each of the block's that are behind its end: between two ends lie
  // `mean` bytes, so many more of these bytes are expected to be ends. Over all blocks the sum is that of
  // their sizes.
  const std::uint64_t behind_end =
      size + (size == 0 ? 1 : 0) - static_cast<std::uint64_t>(thread.bytes_to_sample);
  thread.sample_weight_bytes = static_cast<std::uint64_t>(mean_sample_bytes) + behind_end;
  // Memoryless: starting afresh after a sample keeps the distribution.
  thread.bytes_to_sample = draw_interval(thread.random_state);
  return true;
}

bool remember_sample(const void* block) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  std::atomic<std::uintptr_t>* bucket = bucket_of(block);
  for (std::size_t i = 0; i < bucket_slots; ++i) {
    std::uintptr_t empty = 0;
    if (!bucket[i].compare_exchange_strong(empty, address, std::memory_order_relaxed)) continue;
    alike_of(block).fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  return false;
}

// Both stay functions: one place to probe, whose caller is the hook.
[[gnu::noinline]] bool begin_sample(const ThreadRecorder& thread, const void* block,
                                    std::size_t size) noexcept {
  if (!remember_sample(block)) return false;
  HEAPWRIGHT_PROBE3("otel_memory", "alloc", block, size, thread.sample_weight_bytes);
  return true;
}

[[gnu::noinline]] void end_sample(const void* block) noexcept {
  HEAPWRIGHT_PROBE1("otel_memory", "free", block);
}

bool forget_sample(const void* block) noexcept {
  if (!may_be_sampled(block)) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  std::atomic<std::uintptr_t>* bucket = bucket_of(block);
  for (std::size_t i = 0; i < bucket_slots; ++i) {
    if (bucket[i].load(std::memory_order_relaxed) != address) continue;
    alike_of(block).fetch_sub(1, std::memory_order_relaxed);
    bucket[i].store(0, std::memory_order_relaxed);
    return true;
  }
  return false;
}

}  // namespace heapwright::record
