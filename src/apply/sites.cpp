// SPDX-License-Identifier: MIT
#include "apply/sites.hpp"

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace heapwright::apply {

constinit std::atomic<std::uint64_t> site_filter[(1U << site_filter_bits) / 64]{};

namespace {

constexpr std::size_t bucket_count = 1024;

// A stack word by word, as others may read it meanwhile. The address of the innermost frame is the first.
constexpr std::size_t stack_words = sizeof(ArmedStack) / sizeof(std::uint64_t);
static_assert(sizeof(ArmedStack) % sizeof(std::uint64_t) == 0 && offsetof(ArmedStack, addresses) == 0);
static_assert(std::is_trivially_copyable_v<ArmedStack>);
using StackWords = std::atomic<std::uint64_t>[stack_words];

// Readers look at `changes` before and after: odd, or not the same, means that they read halves of two
// tables. Only what they have read whole is followed to the frames that it leads to.
struct Table {
  std::atomic<std::uint32_t> changes;
  StackWords stacks[most_stacks];
  std::atomic<std::uint32_t> next[most_stacks];  // 1 + the next stack of the bucket
  std::atomic<std::uint32_t>
      first[bucket_count];  // 1 + the first stack, by the hash of the innermost address
};
constinit Table table{};

ArmedStack copy_of(const StackWords& words) noexcept {
  std::uint64_t copied[stack_words];
  for (std::size_t i = 0; i < stack_words; ++i) copied[i] = words[i].load(std::memory_order_relaxed);
  ArmedStack stack;
  std::memcpy(&stack, copied, sizeof stack);
  return stack;
}

void put(const ArmedStack& stack, StackWords& words) noexcept {
  std::uint64_t copied[stack_words];
  std::memcpy(copied, &stack, sizeof stack);
  for (std::size_t i = 0; i < stack_words; ++i) words[i].store(copied[i], std::memory_order_relaxed);
}

std::uint64_t hash_of(std::uint64_t address, unsigned bits) noexcept {
  return address * site_hash_factor >> (64 - bits);
}

std::atomic<std::uint32_t>& bucket_of(std::uint64_t address) noexcept {
  return table.first[hash_of(address, 10)];
}
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
  std::uint32_t next = bucket_of(return_address).load(std::memory_order_relaxed);
  while (next != 0 && next <= most_stacks) {
    const ArmedStack stack = copy_of(table.stacks[next - 1]);
    next = table.next[next - 1].load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (table.changes.load(std::memory_order_relaxed) != changes) return no_remedy;
    if (stack.addresses[0] == return_address && matches(stack, {at + 16, load(at)})) return stack.remedy;
  }
  return no_remedy;
}

void arm_stacks(const ArmedStack* stacks, std::size_t count) noexcept {
  // In a forked child it may be odd: a thread that is not there was here.
  const std::uint32_t during = table.changes.load(std::memory_order_relaxed) | 1;
  table.changes.store(during, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  std::uint64_t bits[sizeof site_filter / sizeof *site_filter] = {};
  for (auto& first : table.first) first.store(0, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < count && i < most_stacks; ++i) {
    put(stacks[i], table.stacks[i]);
    if (stacks[i].frame_count == 0) continue;
    const std::uint64_t address = stacks[i].addresses[0];
    std::atomic<std::uint32_t>& bucket = bucket_of(address);
    table.next[i].store(bucket.load(std::memory_order_relaxed), std::memory_order_relaxed);
    bucket.store(i + 1, std::memory_order_relaxed);
    const std::uint64_t bit = hash_of(address, site_filter_bits);
    bits[bit / 64] |= std::uint64_t{1} << (bit % 64);
  }
  table.changes.store(during + 1, std::memory_order_release);
  for (std::size_t i = 0; i < sizeof bits / sizeof *bits; ++i) {
    site_filter[i].store(bits[i], std::memory_order_relaxed);
  }
}

}  // namespace heapwright::apply
