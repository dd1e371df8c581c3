// SPDX-License-Identifier: MIT
// malloc, calloc, realloc, reallocarray, free and their sized forms. errno is as the real function left it:
// nothing here changes it.
#include <cerrno>
#include <cstring>

#include "record/observe.hpp"

namespace heapwright::record {
namespace {

// Used while the real functions are being looked up.
[[gnu::cold, gnu::noinline]] void* early_block(std::size_t size) noexcept { return early_allocate(size); }

std::size_t product_or_max(std::size_t count, std::size_t size) noexcept {
  std::size_t product = 0;
  return __builtin_mul_overflow(count, size, &product) ? SIZE_MAX : product;
}

void* forward_malloc(std::size_t size) noexcept {
  return real.malloc == nullptr ? early_block(size) : real.malloc(size);
}

void forward_free(void* block) noexcept {
  if (is_early(block) || real.free == nullptr) return;
  real.free(block);
}

// Moves an early block to the real heap.
[[gnu::cold, gnu::noinline]] void* reallocate_early(void* old_block, std::size_t size) noexcept {
  void* block = forward_malloc(size);
  if (block == nullptr) return nullptr;
  const std::size_t old_size = early_size(old_block);
  std::memcpy(block, old_block, old_size < size ? old_size : size);
  return block;
}

void* forward_realloc(void* old_block, std::size_t size) noexcept {
  if (is_early(old_block)) return reallocate_early(old_block, size);
  return real.malloc == nullptr ? early_block(size) : real.realloc(old_block, size);
}

// Hooks jump to these functions at their end, so the frames here are those of the hooks. A hook that has
// nothing to record then saves no registers.
[[gnu::noinline]] void* malloc_recorded(std::size_t size) noexcept {
  const void* frame = __builtin_frame_address(0);
  ThreadRecorder* thread = enter(frame);
  if (thread == nullptr) [[unlikely]] {
    return forward_malloc(size);
  }
  return observe_allocation(*thread, frame, EventKind::malloc_, size, 0,
                            [=]() noexcept { return real.malloc(size); });
}

[[gnu::noinline]] void* malloc_sampled(std::size_t size) noexcept {
  ThreadRecorder* thread = enter_unsampled(__builtin_frame_address(0), size);
  if (thread == nullptr) [[unlikely]] {
    return malloc_recorded(size);
  }
  void* block = real.malloc(size);
  leave(*thread);
  return block;
}

[[gnu::noinline]] void free_recorded(void* block) noexcept {
  const void* frame = __builtin_frame_address(0);
  ThreadRecorder* thread = enter(frame);
  if (thread == nullptr) [[unlikely]] {
    return forward_free(block);
  }
  observe_release(*thread, frame, EventKind::free_, block, 0, 0, [=]() noexcept { real.free(block); });
}

}  // namespace

HEAPWRIGHT_HOOK void* malloc(std::size_t size) {
  return process.sample_mean_bytes != 0 ? malloc_sampled(size) : malloc_recorded(size);
}

// The hook above under a name that no other library can override.
extern "C" [[gnu::alias("malloc"), gnu::visibility("hidden")]] void* heapwright_own_malloc(
    std::size_t size) noexcept;

HEAPWRIGHT_HOOK void* calloc(std::size_t count, std::size_t size) {
  const void* frame = __builtin_frame_address(0);
  ThreadRecorder* thread = enter(frame);
  if (thread == nullptr) [[unlikely]] {
    return real.malloc == nullptr ? early_block(product_or_max(count, size)) : real.calloc(count, size);
  }
  return observe_allocation(*thread, frame, EventKind::calloc_, product_or_max(count, size), 0,
                            [=]() noexcept { return real.calloc(count, size); });
}

HEAPWRIGHT_HOOK void* realloc(void* old_block, std::size_t size) {
  const void* frame = __builtin_frame_address(0);
  ThreadRecorder* thread = is_early(old_block) ? nullptr : enter(frame);
  if (thread == nullptr) [[unlikely]] {
    return forward_realloc(old_block, size);
  }
  return observe_realloc(*thread, frame, EventKind::realloc_, old_block, size,
                         [=]() noexcept { return real.realloc(old_block, size); });
}

HEAPWRIGHT_HOOK void* reallocarray(void* old_block, std::size_t count, std::size_t size) {
  const void* frame = __builtin_frame_address(0);
  const std::size_t bytes = product_or_max(count, size);
  // As the libc's does, whose own allocator does not know the block.
  if (real.program_realloc != nullptr) [[unlikely]] {
    return real.program_realloc(old_block, bytes);
  }
  ThreadRecorder* thread = is_early(old_block) ? nullptr : enter(frame);
  if (thread == nullptr) [[unlikely]] {
    if (bytes == SIZE_MAX) {
      errno = ENOMEM;
      return nullptr;
    }
    return forward_realloc(old_block, bytes);
  }
  // Not the libc's reallocarray, which calls realloc and would enter a second hook.
  return observe_realloc(*thread, frame, EventKind::reallocarray_, old_block, bytes, [=]() noexcept {
    if (bytes != SIZE_MAX) return real.realloc(old_block, bytes);
    errno = ENOMEM;
    return static_cast<void*>(nullptr);
  });
}

HEAPWRIGHT_HOOK void free(void* block) {
  is_early(block) || is_nothing_to_release(block) ? forward_free(block) : free_recorded(block);
}

HEAPWRIGHT_HOOK void cfree(void* block) {
  const void* frame = __builtin_frame_address(0);
  ThreadRecorder* thread = is_early(block) ? nullptr : enter(frame);
  if (thread == nullptr) [[unlikely]] {
    return forward_free(block);
  }
  observe_release(*thread, frame, EventKind::free_, block, 0, 0, [=]() noexcept { real.free(block); });
}

// C23. An older libc lacks these functions: free() then does the same.
HEAPWRIGHT_HOOK void free_sized(void* block, std::size_t size) {
  const void* frame = __builtin_frame_address(0);
  const auto release = [=]() noexcept {
    real.free_sized != nullptr ? real.free_sized(block, size) : real.free(block);
  };
  ThreadRecorder* thread = is_early(block) ? nullptr : enter(frame);
  if (thread == nullptr) [[unlikely]] {
    return is_early(block) ? void() : release();
  }
  observe_release(*thread, frame, EventKind::free_sized_, block, size, 0, release);
}

HEAPWRIGHT_HOOK void free_aligned_sized(void* block, std::size_t alignment, std::size_t size) {
  const void* frame = __builtin_frame_address(0);
  const auto release = [=]() noexcept {
    real.free_aligned_sized != nullptr ? real.free_aligned_sized(block, alignment, size) : real.free(block);
  };
  ThreadRecorder* thread = is_early(block) ? nullptr : enter(frame);
  if (thread == nullptr) [[unlikely]] {
    return is_early(block) ? void() : release();
  }
  observe_release(*thread, frame, EventKind::free_aligned_sized_, block, size, alignment, release);
}

}  // namespace heapwright::record
