// SPDX-License-Identifier: MIT
// The allocation functions that take or imply an alignment, and malloc_usable_size.
#include <cerrno>

#include "record/observe.hpp"
#include "record/scan_requests.hpp"

namespace heapwright::record {
namespace {

constexpr std::size_t page_bytes = 4096;

}  // namespace

HEAPWRIGHT_HOOK int posix_memalign(void** result, std::size_t alignment, std::size_t size) {
  const void* frame = __builtin_frame_address(0);
  ThreadRecorder* thread = enter(frame);
  if (thread == nullptr) [[unlikely]] {
    if (real.malloc != nullptr) return real.posix_memalign(result, alignment, size);
    *result = early_allocate(size, alignment);
    return *result == nullptr ? ENOMEM : 0;
  }
  int error = 0;
  observe_allocation(*thread, frame, EventKind::posix_memalign_, size, alignment, [&]() noexcept {
    void* block = nullptr;
    error = real.posix_memalign(&block, alignment, size);
    // On failure the caller's pointer is left unchanged.
    if (error == 0) *result = block;
    return error == 0 ? block : nullptr;
  });
  return error;
}

HEAPWRIGHT_HOOK void* aligned_alloc(std::size_t alignment, std::size_t size) {
  const void* frame = __builtin_frame_address(0);
  ThreadRecorder* thread = enter(frame);
  if (thread == nullptr) [[unlikely]] {
    return real.malloc == nullptr ? early_allocate(size, alignment) : real.aligned_alloc(alignment, size);
  }
  return observe_allocation(*thread, frame, EventKind::aligned_alloc_, size, alignment,
                            [=]() noexcept { return real.aligned_alloc(alignment, size); });
}

HEAPWRIGHT_HOOK void* memalign(std::size_t alignment, std::size_t size) {
  const void* frame = __builtin_frame_address(0);
  ThreadRecorder* thread = enter(frame);
  if (thread == nullptr) [[unlikely]] {
    return real.malloc == nullptr ? early_allocate(size, alignment) : real.memalign(alignment, size);
  }
  return observe_allocation(*thread, frame, EventKind::memalign_, size, alignment,
                            [=]() noexcept { return real.memalign(alignment, size); });
}

HEAPWRIGHT_HOOK void* valloc(std::size_t size) {
  const void* frame = __builtin_frame_address(0);
  ThreadRecorder* thread = enter(frame);
  if (thread == nullptr) [[unlikely]] {
    return real.malloc == nullptr ? early_allocate(size, page_bytes) : real.valloc(size);
  }
  return observe_allocation(*thread, frame, EventKind::valloc_, size, 0,
                            [=]() noexcept { return real.valloc(size); });
}

HEAPWRIGHT_HOOK void* pvalloc(std::size_t size) {
  const void* frame = __builtin_frame_address(0);
  ThreadRecorder* thread = enter(frame);
  if (thread == nullptr) [[unlikely]] {
    return real.malloc == nullptr ? early_allocate(size, page_bytes) : real.pvalloc(size);
  }
  return observe_allocation(*thread, frame, EventKind::pvalloc_, size, 0,
                            [=]() noexcept { return real.pvalloc(size); });
}

HEAPWRIGHT_HOOK std::size_t malloc_usable_size(void* block) {
  const void* frame = __builtin_frame_address(0);
  if (is_early(block)) [[unlikely]] {
    return early_size(block);
  }
  ThreadRecorder* thread = enter(frame);
  if (thread == nullptr) [[unlikely]] {
    return real.malloc_usable_size == nullptr ? 0 : real.malloc_usable_size(block);
  }
  const std::uint64_t begin_ticks = now_ticks();
  const std::size_t usable = real.malloc_usable_size(block);
  if (process.sample_mean_bytes != 0) [[unlikely]] {
    leave(*thread);
    return usable;
  }
  finish_other(*thread, frame,
               Call{.kind = EventKind::malloc_usable_size_,
                    .usable = usable,
                    .address = reinterpret_cast<std::uintptr_t>(block)},
               begin_ticks);
  return usable;
}

HEAPWRIGHT_HOOK int malloc_trim(std::size_t pad) {
  const void* frame = __builtin_frame_address(0);
  ThreadRecorder* thread = enter(frame);
  if (real.malloc_trim == nullptr) [[unlikely]] {
    if (thread != nullptr) leave(*thread);
    return 0;
  }
  if (thread == nullptr) [[unlikely]] {
    return real.malloc_trim(pad);
  }
  const std::uint64_t begin_ticks = now_ticks();
  const int result = real.malloc_trim(pad);
  finish_other(
      *thread, frame,
      Call{.kind = EventKind::malloc_trim_, .size = pad, .address = static_cast<std::uint64_t>(result)},
      begin_ticks);
  ask_for_scan(session::scan_after_trim);
  return result;
}

HEAPWRIGHT_HOOK int mallopt(int parameter, int value) {
  const void* frame = __builtin_frame_address(0);
  ThreadRecorder* thread = enter(frame);
  if (real.mallopt == nullptr) [[unlikely]] {
    if (thread != nullptr) leave(*thread);
    return 0;
  }
  if (thread == nullptr) [[unlikely]] {
    return real.mallopt(parameter, value);
  }
  const std::uint64_t begin_ticks = now_ticks();
  const int result = real.mallopt(parameter, value);
  finish_other(*thread, frame,
               Call{.kind = EventKind::mallopt_,
                    .size = static_cast<std::uint32_t>(parameter),
                    .address = static_cast<std::uint32_t>(value)},
               begin_ticks);
  return result;
}

}  // namespace heapwright::record
