// SPDX-License-Identifier: MIT
#include "apply/sites.hpp"

#include <cstring>

namespace heapwright::apply {

constinit std::atomic<std::uint64_t> site_filter[(1U << site_filter_bits) / 64]{};

namespace {

constexpr std::size_t bucket_count = 1024;

// Readers look at `changes` before and after: odd, or not the same, means that they read halves of two
// tables.
struct Table {
  std::atomic<std::uint32_t> changes;
  ArmedStack stacks[most_stacks];
  std::uint32_t next[most_stacks];    // 1 + the next stack of the bucket
  std::uint32_t first[bucket_count];  // 1 + the first stack, by the hash of the innermost address
};
constinit Table table{};

std::uint64_t hash_of(std::uint64_t address, unsigned bits) noexcept {
  return address * site_hash_factor >> (64 - bits);
}

std::uint32_t& bucket_of(std::uint64_t address) noexcept { return table.first[hash_of(address, 10)]; }
static_assert(bucket_count == 1U << 10);

std::uint64_t load(std::uint64_t address) noexcept {
  std::uint64_t value;
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
  return value;
}

struct Point {
  std::uint64_t sp;  // of the frame, after the call has returned
  std::uint64_t rbp;
};

// To the frame around it. What is read is there: the rule is of the code that made the call.
bool step(unwind::Rule rule, Point& point) noexcept {
  std::uint64_t cfa = 0;
  const auto offset = static_cast<std::uint64_t>(rule.cfa_offset());
  switch (rule.type()) {
    case unwind::RuleType::rsp_offset:
      cfa = point.sp + offset;
      break;
    case unwind::RuleType::rbp_offset:
      cfa = point.rbp + offset;
      break;
    case unwind::RuleType::rbp_load:
      cfa = load(point.rbp + offset);
      break;
    default:
      return false;
  }
  const auto slot = static_cast<std::uint64_t>(rule.rbp_offset());
  if (rule.rbp_source() == unwind::RbpSource::cfa_slot) point.rbp = load(cfa + slot);
  if (rule.rbp_source() == unwind::RbpSource::rbp_slot) point.rbp = load(point.rbp + slot);
  point.sp = cfa;
  return true;
}

bool matches(const ArmedStack& stack, Point point) noexcept {
  for (std::uint32_t i = 1; i < stack.frame_count; ++i) {
    if (!step(stack.rules[i - 1], point) || load(point.sp - 8) != stack.addresses[i]) return false;
  }
  return true;
}

}  // namespace

std::uint32_t remedy_of_call(const void* frame) noexcept {
  const std::uint32_t changes = table.changes.load(std::memory_order_acquire);
  if (changes % 2 != 0) return no_remedy;
  const auto at = reinterpret_cast<std::uint64_t>(frame);
  const std::uint64_t return_address = load(at + 8);
  std::uint32_t found = no_remedy;
  for (std::uint32_t i = bucket_of(return_address); i != 0 && i <= most_stacks; i = table.next[i - 1]) {
    const ArmedStack& stack = table.stacks[i - 1];
    if (stack.addresses[0] != return_address || !matches(stack, {at + 16, load(at)})) continue;
    found = stack.remedy;
    break;
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  return table.changes.load(std::memory_order_relaxed) == changes ? found : no_remedy;
}

void arm_stacks(const ArmedStack* stacks, std::size_t count) noexcept {
  // In a forked child it may be odd: a thread that is not there was here.
  const std::uint32_t during = table.changes.load(std::memory_order_relaxed) | 1;
  table.changes.store(during, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  std::uint64_t bits[sizeof site_filter / sizeof *site_filter] = {};
  std::memset(table.first, 0, sizeof table.first);
  for (std::uint32_t i = 0; i < count && i < most_stacks; ++i) {
    table.stacks[i] = stacks[i];
    if (stacks[i].frame_count == 0) continue;
    const std::uint64_t address = stacks[i].addresses[0];
    std::uint32_t& bucket = bucket_of(address);
    table.next[i] = bucket;
    bucket = i + 1;
    const std::uint64_t bit = hash_of(address, site_filter_bits);
    bits[bit / 64] |= std::uint64_t{1} << (bit % 64);
  }
  table.changes.store(during + 1, std::memory_order_release);
  for (std::size_t i = 0; i < sizeof bits / sizeof *bits; ++i) {
    site_filter[i].store(bits[i], std::memory_order_relaxed);
  }
}

}  // namespace heapwright::apply
