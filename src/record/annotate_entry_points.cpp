// SPDX-License-Identifier: MIT
// Annotations that a program makes about itself: include/heapwright/annotate.h.
//
// Each annotation is one event. Its name follows immediately, in the order of the thread, as annotation_text
// events of 16 bytes each.
#include <cstring>

#include "record/observe.hpp"
#include "record/scan_requests.hpp"

namespace heapwright::record {
namespace {

constexpr std::size_t piece_bytes = 2 * sizeof(std::uint64_t);
constexpr std::size_t longest_name_bytes = 128;  // the rest is cut off

void emit_name(ThreadRecorder& thread, const char* name, std::uint64_t begin_ticks) noexcept {
  for (std::size_t at = 0; at < longest_name_bytes && name[at] != 0; at += piece_bytes) {
    char piece[piece_bytes] = {};
    std::size_t length = 0;
    while (length < piece_bytes && name[at + length] != 0) {
      piece[length] = name[at + length];
      ++length;
    }
    Call call{.kind = EventKind::annotation_text, .begin_ticks = begin_ticks};
    std::memcpy(&call.size, piece, sizeof(call.size));
    std::memcpy(&call.usable, piece + sizeof(call.size), sizeof(call.usable));
    emit(thread, call);
    if (length < piece_bytes) return;
  }
}

// The stack shows where the annotation was made; it has no duration.
[[gnu::always_inline]] inline void say(const void* frame, Call call, const char* name = nullptr) noexcept {
  ThreadRecorder* thread = enter(frame);
  if (thread == nullptr) return;
  thread->activity = Activity::recorder;
  call.begin_ticks = now_ticks();
  call.stack_node = process.stacks ? stack_at(*thread, frame) : 0;
  emit(*thread, call);
  if (name != nullptr) emit_name(*thread, name, call.begin_ticks);
  leave(*thread);
}

std::uint64_t number_of(const void* address) noexcept { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

HEAPWRIGHT_HOOK void heapwright_annotate_phase_begin(const char* name) noexcept {
  say(__builtin_frame_address(0), {.kind = EventKind::phase_begin}, name);
}

HEAPWRIGHT_HOOK void heapwright_annotate_phase_end(const char* name) noexcept {
  say(__builtin_frame_address(0), {.kind = EventKind::phase_end}, name);
  ask_for_scan(session::scan_after_phase);
}

HEAPWRIGHT_HOOK void heapwright_annotate_pool_create(const void* pool, const char* name) noexcept {
  say(__builtin_frame_address(0), {.kind = EventKind::pool_create, .address = number_of(pool)}, name);
}

HEAPWRIGHT_HOOK void heapwright_annotate_pool_destroy(const void* pool) noexcept {
  say(__builtin_frame_address(0), {.kind = EventKind::pool_destroy, .address = number_of(pool)});
}

HEAPWRIGHT_HOOK void heapwright_annotate_pool_allocate(const void* pool, const void* block,
                                                       std::size_t bytes) noexcept {
  say(__builtin_frame_address(0), {.kind = EventKind::pool_allocate,
                                   .size = bytes,
                                   .usable = number_of(pool),
                                   .address = number_of(block)});
}

HEAPWRIGHT_HOOK void heapwright_annotate_pool_free(const void* pool, const void* block) noexcept {
  say(__builtin_frame_address(0),
      {.kind = EventKind::pool_free, .usable = number_of(pool), .address = number_of(block)});
}

HEAPWRIGHT_HOOK void heapwright_annotate_region(const void* first, std::size_t bytes,
                                                const char* name) noexcept {
  say(__builtin_frame_address(0),
      {.kind = EventKind::region_named, .size = bytes, .address = number_of(first)}, name);
}

// Also while the recording is paused: a call recorded later is in the context that began meanwhile.
HEAPWRIGHT_HOOK const char* heapwright_annotate_context(const char* name) noexcept {
  const void* const frame = __builtin_frame_address(0);
  const char* const previous = current_context;
  current_context = name;
  ThreadRecorder* thread = enter_unless_busy(frame);
  if (thread == nullptr) return previous;
  thread->activity = Activity::recorder;
  thread->hook_frame = number_of(frame);
  emit_context(*thread);
  leave(*thread);
  return previous;
}

HEAPWRIGHT_HOOK void heapwright_annotate_snapshot() noexcept { wait_for_snapshot(); }

}  // namespace heapwright::record
