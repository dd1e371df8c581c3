// SPDX-License-Identifier: MIT
// The hooks of own names. For each, a function with the same parameters computes what is recorded of a call;
// the hook is generated from it.
#pragma once

#include <algorithm>
#include <cstddef>

#include "record/observe_operator.hpp"
#include "record/own_name_families.hpp"

namespace heapwright::record {

struct Request {
  EventKind kind;
  std::size_t size;
  std::size_t alignment = 0;
};

struct Change {
  void* old_block;
  std::size_t size;
};

struct Release {
  EventKind kind;
  void* block;
  std::size_t size = 0;
  std::size_t alignment = 0;
};

template <std::size_t bytes>
struct Name {
  char text[bytes];
  // NOLINTNEXTLINE(google-explicit-constructor): a literal is the argument
  consteval Name(const char (&literal)[bytes]) { std::copy_n(literal, bytes, text); }
};

// The real function of that name.
template <Name name>
inline constinit void* next_function = nullptr;

template <auto function>
void* address_of() noexcept {
  return reinterpret_cast<void*>(function);
}

template <Family family>
struct UsableOf {
  std::size_t operator()(void* block) const noexcept {
    const UsableFunction usable = families[static_cast<std::size_t>(family)].usable;
    return usable == nullptr ? 0 : usable(block);
  }
};

template <Name name, typename Result, typename... Arguments>
[[gnu::always_inline]] inline auto next_of() noexcept {
  return reinterpret_cast<Result (*)(Arguments...)>(next_function<name>);
}

template <Name name, Family family, auto describe>
struct Allocation;
template <Name name, Family family, typename... A, Request (*describe)(A...) noexcept>
struct Allocation<name, family, describe> {
  static void* hook(A... a) noexcept {
    const void* frame = __builtin_frame_address(0);
    auto* next = next_of<name, void*, A...>();
    ThreadRecorder* thread = enter(frame);
    if (thread == nullptr) [[unlikely]] {
      return next(a...);
    }
    const Request request = describe(a...);
    return observe_allocation(
        *thread, frame, request.kind, request.size, request.alignment, [=]() noexcept { return next(a...); },
        UsableOf<family>{});
  }
};

// May call the new handler and throw.
template <Name name, Family family, auto describe>
struct Operator;
template <Name name, Family family, typename... A, Request (*describe)(A...) noexcept>
struct Operator<name, family, describe> {
  static void* hook(A... a) {
    const Request request = describe(a...);
    auto* next = next_of<name, void*, A...>();
    return observe_operator(
        __builtin_frame_address(0), request.kind, request.size, request.alignment, [=] { return next(a...); },
        UsableOf<family>{});
  }
};

// frees_unmoved: frees the block if it cannot be moved.
template <Name name, Family family, auto describe, bool frees_unmoved = false>
struct Reallocation;
template <Name name, Family family, typename... A, Change (*describe)(A...) noexcept, bool frees_unmoved>
struct Reallocation<name, family, describe, frees_unmoved> {
  static void* hook(A... a) noexcept {
    const void* frame = __builtin_frame_address(0);
    auto* next = next_of<name, void*, A...>();
    ThreadRecorder* thread = enter(frame);
    if (thread == nullptr) [[unlikely]] {
      return next(a...);
    }
    const Change change = describe(a...);
    void* block = observe_realloc(
        *thread, frame, EventKind::realloc_, change.old_block, change.size,
        [=]() noexcept { return next(a...); }, UsableOf<family>{});
    if (frees_unmoved && block == nullptr && change.old_block != nullptr) [[unlikely]] {
      thread->activity = Activity::real_call;
      observe_release(*thread, frame, EventKind::free_, change.old_block, 0, 0, []() noexcept {});
    }
    return block;
  }
};

// Like Reallocation; may call the new handler and throw.
template <Name name, Family family, auto describe>
struct OperatorReallocation;
template <Name name, Family family, typename... A, Change (*describe)(A...) noexcept>
struct OperatorReallocation<name, family, describe> {
  static void* hook(A... a) {
    if (process.sample_mean_bytes != 0) [[unlikely]] {
      return Reallocation<name, family, describe>::hook(a...);
    }
    const Change change = describe(a...);
    auto* next = next_of<name, void*, A...>();
    return observe_operator(
        __builtin_frame_address(0), EventKind::realloc_, change.size, 0, [=] { return next(a...); },
        UsableOf<family>{}, change.old_block);
  }
};

template <Name name, Family family, auto describe>
struct Deallocation;
template <Name name, Family family, typename... A, Release (*describe)(A...) noexcept>
struct Deallocation<name, family, describe> {
  static void hook(A... a) noexcept {
    const void* frame = __builtin_frame_address(0);
    auto* next = next_of<name, void, A...>();
    const Release release = describe(a...);
    ThreadRecorder* thread = is_early(release.block) ? nullptr : enter(frame);
    if (thread == nullptr) [[unlikely]] {
      return is_early(release.block) ? void() : next(a...);
    }
    observe_release(*thread, frame, release.kind, release.block, release.size, release.alignment,
                    [=]() noexcept { next(a...); });
  }
};

template <Name name, Family family>
struct PosixMemalign {
  static int hook(void** result, std::size_t alignment, std::size_t size) noexcept {
    const void* frame = __builtin_frame_address(0);
    auto* next = next_of<name, int, void**, std::size_t, std::size_t>();
    ThreadRecorder* thread = enter(frame);
    if (thread == nullptr) [[unlikely]] {
      return next(result, alignment, size);
    }
    int error = 0;
    observe_allocation(
        *thread, frame, EventKind::posix_memalign_, size, alignment,
        [&]() noexcept {
          error = next(result, alignment, size);
          return error == 0 ? *result : nullptr;
        },
        UsableOf<family>{});
    return error;
  }
};

// xallocx: resizes a block in place and returns its size. A block that could not be resized is recorded as a
// failed realloc.
template <Name name, Family family>
struct ResizeInPlace {
  static std::size_t hook(void* block, std::size_t size, std::size_t extra, int flags) noexcept {
    const void* frame = __builtin_frame_address(0);
    auto* next = next_of<name, std::size_t, void*, std::size_t, std::size_t, int>();
    ThreadRecorder* thread = enter(frame);
    if (thread == nullptr) [[unlikely]] {
      return next(block, size, extra, flags);
    }
    std::size_t usable = 0;
    observe_realloc(
        *thread, frame, EventKind::realloc_, block, size,
        [&]() noexcept {
          usable = next(block, size, extra, flags);
          return usable >= size ? block : nullptr;
        },
        UsableOf<family>{});
    return usable;
  }
};

// A function whose allocations or releases no event can describe: the call is forwarded and counted. These
// functions have at most six parameter words.
template <Name name>
struct Unseen {
  using Word = std::uintptr_t;
  static Word hook(Word a, Word b, Word c, Word d, Word e, Word f) {
    const bool is_counted = wiped_on_fork.mode.load(std::memory_order_relaxed) == Mode::active &&
                            process.control->is_recording.load(std::memory_order_relaxed) != 0 &&
                            !is_code_of_own_names(__builtin_return_address(0));
    if (is_counted) process.block->unseen_calls.fetch_add(1, std::memory_order_relaxed);
    return next_of<name, Word, Word, Word, Word, Word, Word, Word>()(a, b, c, d, e, f);
  }
};

template <Name name, Family family, typename Hook>
constexpr OwnName own_name() noexcept {
  return {name.text, family, &address_of<&Hook::hook>, &next_function<name>};
}

}  // namespace heapwright::record
