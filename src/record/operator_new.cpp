// SPDX-License-Identifier: MIT
// Every operator new, each with its own event kind. Each hook calls the operator that the program would have
// called, so new handlers and bad_alloc are left to that one; the malloc inside is nested and not recorded
// again.
//
// A throwing operator unwinds through our frame. The hook must notice that, or the thread would count as
// inside the operator until it returns below this frame: where the exception is caught, calls may go deeper
// again. There is nothing to clean up and no C++ runtime to link, so instead of landing pads the hooks have
// our own personality routine, which the unwinder calls for each hook frame that it removes.
#include <new>

#include "record/observe_operator.hpp"

namespace heapwright::record {
namespace {

template <typename Function>
[[gnu::cold, gnu::noinline]] Function* find_or_stop(Function*& cached, const char* name) noexcept {
  cached = reinterpret_cast<Function*>(find_operator_aside(name));
  // A program that calls an undefined operator could not have started.
  if (cached == nullptr) __builtin_trap();
  return cached;
}

template <typename Function>
[[gnu::always_inline]] inline Function* operator_of(Function*& cached, const char* name) noexcept {
  return cached != nullptr ? cached : find_or_stop(cached, name);
}

using Plain = void*(std::size_t);
using Nothrow = void*(std::size_t, const std::nothrow_t&);
using Aligned = void*(std::size_t, std::align_val_t);
using AlignedNothrow = void*(std::size_t, std::align_val_t, const std::nothrow_t&);

constinit Plain* next_new = nullptr;
constinit Plain* next_new_array = nullptr;
constinit Nothrow* next_new_nothrow = nullptr;
constinit Nothrow* next_new_array_nothrow = nullptr;
constinit Aligned* next_new_aligned = nullptr;
constinit Aligned* next_new_array_aligned = nullptr;
constinit AlignedNothrow* next_new_aligned_nothrow = nullptr;
constinit AlignedNothrow* next_new_array_aligned_nothrow = nullptr;

}  // namespace

// The personality routine of every operator new hook, as defined by the C++ ABI: takes phase bits, returns
// "continue unwinding".
extern "C" [[gnu::used, gnu::visibility("hidden")]] int heapwright_operator_personality(
    int /*version*/, int actions, std::uint64_t /*exception_class*/, void* /*exception*/,
    void* /*context*/) noexcept {
  constexpr int cleanup_phase = 2;
  constexpr int continue_unwinding = 8;
  if ((actions & cleanup_phase) != 0) leave_operator_by_exception();
  return continue_unwinding;
}

}  // namespace heapwright::record

using namespace heapwright::record;

#define HEAPWRIGHT_OPERATOR __attribute__((visibility("default")))

HEAPWRIGHT_OPERATOR void* operator new(std::size_t size) {
  Plain* next = operator_of(next_new, "_Znwm");
  return observe_operator(__builtin_frame_address(0), EventKind::new_plain, size, 0,
                          [=] { return next(size); });
}

HEAPWRIGHT_OPERATOR void* operator new[](std::size_t size) {
  Plain* next = operator_of(next_new_array, "_Znam");
  return observe_operator(__builtin_frame_address(0), EventKind::new_array, size, 0,
                          [=] { return next(size); });
}

HEAPWRIGHT_OPERATOR void* operator new(std::size_t size, const std::nothrow_t& tag) noexcept {
  Nothrow* next = operator_of(next_new_nothrow, "_ZnwmRKSt9nothrow_t");
  return observe_operator(__builtin_frame_address(0), EventKind::new_nothrow, size, 0,
                          [=, &tag]() noexcept { return next(size, tag); });
}

HEAPWRIGHT_OPERATOR void* operator new[](std::size_t size, const std::nothrow_t& tag) noexcept {
  Nothrow* next = operator_of(next_new_array_nothrow, "_ZnamRKSt9nothrow_t");
  return observe_operator(__builtin_frame_address(0), EventKind::new_array_nothrow, size, 0,
                          [=, &tag]() noexcept { return next(size, tag); });
}

HEAPWRIGHT_OPERATOR void* operator new(std::size_t size, std::align_val_t alignment) {
  Aligned* next = operator_of(next_new_aligned, "_ZnwmSt11align_val_t");
  return observe_operator(__builtin_frame_address(0), EventKind::new_aligned, size,
                          static_cast<std::size_t>(alignment), [=] { return next(size, alignment); });
}

HEAPWRIGHT_OPERATOR void* operator new[](std::size_t size, std::align_val_t alignment) {
  Aligned* next = operator_of(next_new_array_aligned, "_ZnamSt11align_val_t");
  return observe_operator(__builtin_frame_address(0), EventKind::new_array_aligned, size,
                          static_cast<std::size_t>(alignment), [=] { return next(size, alignment); });
}

HEAPWRIGHT_OPERATOR void* operator new(std::size_t size, std::align_val_t alignment,
                                       const std::nothrow_t& tag) noexcept {
  AlignedNothrow* next = operator_of(next_new_aligned_nothrow, "_ZnwmSt11align_val_tRKSt9nothrow_t");
  return observe_operator(__builtin_frame_address(0), EventKind::new_aligned_nothrow, size,
                          static_cast<std::size_t>(alignment),
                          [=, &tag]() noexcept { return next(size, alignment, tag); });
}

HEAPWRIGHT_OPERATOR void* operator new[](std::size_t size, std::align_val_t alignment,
                                         const std::nothrow_t& tag) noexcept {
  AlignedNothrow* next = operator_of(next_new_array_aligned_nothrow, "_ZnamSt11align_val_tRKSt9nothrow_t");
  return observe_operator(__builtin_frame_address(0), EventKind::new_array_aligned_nothrow, size,
                          static_cast<std::size_t>(alignment),
                          [=, &tag]() noexcept { return next(size, alignment, tag); });
}
