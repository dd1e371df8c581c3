// SPDX-License-Identifier: MIT
// Every operator delete, each with its own event kind; the free inside is nested and not recorded again.
#include <new>

#include "record/observe.hpp"

namespace heapwright::record {
namespace {

template <typename... Arguments>
[[gnu::always_inline]] inline void observe_delete(const void* frame, EventKind kind,
                                                  void (*&next)(void*, Arguments...), const char* name,
                                                  std::size_t size, std::size_t alignment, void* block,
                                                  Arguments... arguments) noexcept {
  using Function = void (*)(void*, Arguments...);
  if (next == nullptr) [[unlikely]] {
    next = reinterpret_cast<Function>(find_operator_aside(name));
  }
  if (next == nullptr || is_early(block)) [[unlikely]] {
    __builtin_trap();
  }
  if (is_nothing_to_release(block)) [[unlikely]] {
    return next(block, arguments...);
  }
  ThreadRecorder* thread = enter(frame);
  if (thread == nullptr) [[unlikely]] {
    return next(block, arguments...);
  }
  observe_release(*thread, frame, kind, block, size, alignment,
                  [function = next, block, arguments...]() noexcept { function(block, arguments...); });
}

using Size = std::size_t;
using Alignment = std::align_val_t;
using Tag = const std::nothrow_t&;

void (*next_delete)(void*) = nullptr;
void (*next_delete_array)(void*) = nullptr;
void (*next_delete_sized)(void*, Size) = nullptr;
void (*next_delete_array_sized)(void*, Size) = nullptr;
void (*next_delete_aligned)(void*, Alignment) = nullptr;
void (*next_delete_array_aligned)(void*, Alignment) = nullptr;
void (*next_delete_sized_aligned)(void*, Size, Alignment) = nullptr;
void (*next_delete_array_sized_aligned)(void*, Size, Alignment) = nullptr;
void (*next_delete_nothrow)(void*, Tag) = nullptr;
void (*next_delete_array_nothrow)(void*, Tag) = nullptr;
void (*next_delete_aligned_nothrow)(void*, Alignment, Tag) = nullptr;
void (*next_delete_array_aligned_nothrow)(void*, Alignment, Tag) = nullptr;

std::size_t bytes_of(Alignment alignment) noexcept { return static_cast<std::size_t>(alignment); }

}  // namespace
}  // namespace heapwright::record

using namespace heapwright::record;

#define HEAPWRIGHT_OPERATOR __attribute__((visibility("default")))

HEAPWRIGHT_OPERATOR void operator delete(void* block) noexcept {
  observe_delete(__builtin_frame_address(0), EventKind::delete_plain, next_delete, "_ZdlPv", 0, 0, block);
}

HEAPWRIGHT_OPERATOR void operator delete[](void* block) noexcept {
  observe_delete(__builtin_frame_address(0), EventKind::delete_array, next_delete_array, "_ZdaPv", 0, 0,
                 block);
}

HEAPWRIGHT_OPERATOR void operator delete(void* block, Size size) noexcept {
  observe_delete(__builtin_frame_address(0), EventKind::delete_sized, next_delete_sized, "_ZdlPvm", size, 0,
                 block, size);
}

HEAPWRIGHT_OPERATOR void operator delete[](void* block, Size size) noexcept {
  observe_delete(__builtin_frame_address(0), EventKind::delete_array_sized, next_delete_array_sized,
                 "_ZdaPvm", size, 0, block, size);
}

HEAPWRIGHT_OPERATOR void operator delete(void* block, Alignment alignment) noexcept {
  observe_delete(__builtin_frame_address(0), EventKind::delete_aligned, next_delete_aligned,
                 "_ZdlPvSt11align_val_t", 0, bytes_of(alignment), block, alignment);
}

HEAPWRIGHT_OPERATOR void operator delete[](void* block, Alignment alignment) noexcept {
  observe_delete(__builtin_frame_address(0), EventKind::delete_array_aligned, next_delete_array_aligned,
                 "_ZdaPvSt11align_val_t", 0, bytes_of(alignment), block, alignment);
}

HEAPWRIGHT_OPERATOR void operator delete(void* block, Size size, Alignment alignment) noexcept {
  observe_delete(__builtin_frame_address(0), EventKind::delete_sized_aligned, next_delete_sized_aligned,
                 "_ZdlPvmSt11align_val_t", size, bytes_of(alignment), block, size, alignment);
}

HEAPWRIGHT_OPERATOR void operator delete[](void* block, Size size, Alignment alignment) noexcept {
  observe_delete(__builtin_frame_address(0), EventKind::delete_array_sized_aligned,
                 next_delete_array_sized_aligned, "_ZdaPvmSt11align_val_t", size, bytes_of(alignment), block,
                 size, alignment);
}

HEAPWRIGHT_OPERATOR void operator delete(void* block, Tag tag) noexcept {
  observe_delete<Tag>(__builtin_frame_address(0), EventKind::delete_nothrow, next_delete_nothrow,
                      "_ZdlPvRKSt9nothrow_t", 0, 0, block, tag);
}

HEAPWRIGHT_OPERATOR void operator delete[](void* block, Tag tag) noexcept {
  observe_delete<Tag>(__builtin_frame_address(0), EventKind::delete_array_nothrow, next_delete_array_nothrow,
                      "_ZdaPvRKSt9nothrow_t", 0, 0, block, tag);
}

HEAPWRIGHT_OPERATOR void operator delete(void* block, Alignment alignment, Tag tag) noexcept {
  observe_delete<Alignment, Tag>(__builtin_frame_address(0), EventKind::delete_aligned_nothrow,
                                 next_delete_aligned_nothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t", 0,
                                 bytes_of(alignment), block, alignment, tag);
}

HEAPWRIGHT_OPERATOR void operator delete[](void* block, Alignment alignment, Tag tag) noexcept {
  observe_delete<Alignment, Tag>(__builtin_frame_address(0), EventKind::delete_array_aligned_nothrow,
                                 next_delete_array_aligned_nothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t", 0,
                                 bytes_of(alignment), block, alignment, tag);
}
