// SPDX-License-Identifier: MIT
// The agents' use of the process they are mapped into: it makes no call into it except to the allocator.
#pragma once

#include <time.h>

#include <cstddef>
#include <cstdint>

#include "attach/agent/layout.hpp"
#include "platform/glibc_header.hpp"
#include "platform/raw_syscall.hpp"

// Names that the attaching program looks up: heapwright_agent, which begins with an Agent;
// heapwright_agent_threads, which the kernel wipes in a fork child; heapwright_agent_hooks, by Entry.
#define HEAPWRIGHT_AGENT_DATA extern "C" __attribute__((visibility("default")))

namespace heapwright::attach::agent {

inline std::uint64_t thread_pointer() noexcept {
  std::uint64_t pointer;
  asm("mov %%fs:0, %0" : "=r"(pointer));
  return pointer;
}

inline std::size_t usable_bytes(const Agent& agent, void* block) noexcept {
  if (agent.has_glibc_headers != 0) [[likely]] {
    const std::size_t usable = platform::usable_by_glibc_header(block);
    if (usable != 0) [[likely]] {
      return usable;
    }
  }
  return agent.usable_size != nullptr ? agent.usable_size(block) : 0;
}

// Whether the call that returns there is glibc's own, for a block that the program has released before.
inline bool is_own_call(const Agent& agent, const void* return_address) noexcept {
  const auto address = reinterpret_cast<std::uint64_t>(return_address);
  if (address - agent.own_code >= agent.own_code_bytes) [[likely]] {
    return false;
  }
  constexpr std::size_t call_bytes = 5;  // e8 and the distance
  const auto* const call = static_cast<const std::uint8_t*>(return_address) - call_bytes;
  std::int32_t distance;
  __builtin_memcpy(&distance, call + 1, sizeof distance);
  return *call == 0xe8 && address + static_cast<std::uint64_t>(std::int64_t{distance}) == agent.free_entry;
}

inline int read_clock(const Agent& agent, int clock, timespec* now) noexcept {
  if (agent.clock_gettime != nullptr) return agent.clock_gettime(clock, now);
  return static_cast<int>(platform::raw_syscall(SYS_clock_gettime, clock, platform::raw_argument(now)));
}

inline std::size_t product_or_max(std::size_t count, std::size_t size) noexcept {
  std::size_t product = 0;
  return __builtin_mul_overflow(count, size, &product) ? SIZE_MAX : product;
}

// jemalloc's flags: the lowest bits are the logarithm of the alignment.
inline constexpr int flags_alignment = 0x3f;
inline constexpr int flags_zero = 0x40;

// How a replaced operator is called: those with fewer arguments ignore the others.
using Operator = void*(std::size_t, std::size_t, const void*);

// A hook's address as a link-time constant, which a cast would not be.
union Hook {
  constexpr Hook(void* (*hook)(std::size_t)) noexcept : of_size(hook) {}
  constexpr Hook(void* (*hook)(std::size_t, std::size_t)) noexcept : of_two_sizes(hook) {}
  constexpr Hook(void* (*hook)(void*, std::size_t)) noexcept : of_block_and_size(hook) {}
  constexpr Hook(void (*hook)(void*)) noexcept : of_block(hook) {}
  constexpr Hook(int (*hook)(void**, std::size_t, std::size_t)) noexcept : of_result(hook) {}
  constexpr Hook(int (*hook)(void*)) noexcept : of_handle(hook) {}
  constexpr Hook(void* (*hook)(void*, std::size_t, int, int, int, long)) noexcept : mapping(hook) {}
  constexpr Hook(void (*hook)(int)) noexcept : ending(hook) {}
  constexpr Hook(int (*hook)(void*, std::size_t)) noexcept : unmapping(hook) {}
  constexpr Hook(int (*hook)(void*, std::size_t, int)) noexcept : advising(hook) {}
  constexpr Hook(void* (*hook)(void*, std::size_t, std::size_t, int, void*)) noexcept : moving(hook) {}
  constexpr Hook(int (*hook)(const char*, char* const*, char* const*)) noexcept : replacing(hook) {}
  constexpr Hook(int (*hook)(int, long, long, long, long)) noexcept : controlling(hook) {}
  constexpr Hook(long (*hook)(long, long, long, long, long, long, long)) noexcept : calling(hook) {}
  constexpr Hook(std::nullptr_t) noexcept : of_block(nullptr) {}
  constexpr Hook() noexcept : of_block(nullptr) {}
  constexpr Hook(void (*hook)(void*, std::size_t, std::size_t)) noexcept : releasing(hook) {}
  constexpr Hook(void* (*hook)(void*, std::size_t, std::size_t)) noexcept : changing(hook) {}
  constexpr Hook(Operator* hook) noexcept : making(hook) {}

  void* (*of_size)(std::size_t);
  void* (*of_two_sizes)(std::size_t, std::size_t);
  void* (*of_block_and_size)(void*, std::size_t);
  void (*of_block)(void*);
  int (*of_result)(void**, std::size_t, std::size_t);
  int (*of_handle)(void*);
  void (*releasing)(void*, std::size_t, std::size_t);
  void* (*changing)(void*, std::size_t, std::size_t);
  Operator* making;
  void* (*mapping)(void*, std::size_t, int, int, int, long);
  void (*ending)(int);
  int (*unmapping)(void*, std::size_t);
  int (*advising)(void*, std::size_t, int);
  void* (*moving)(void*, std::size_t, std::size_t, int, void*);
  int (*replacing)(const char*, char* const*, char* const*);
  int (*controlling)(int, long, long, long, long);
  long (*calling)(long, long, long, long, long, long, long);
};
static_assert(sizeof(Hook) == sizeof(Function));

}  // namespace heapwright::attach::agent
