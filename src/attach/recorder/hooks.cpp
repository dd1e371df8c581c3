// SPDX-License-Identifier: MIT
// The hooks that patched functions jump to. A hook's frame is as if the program had called it, and the stack
// walk begins there.
#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "attach/recorder/children.hpp"
#include "attach/recorder/recorded.hpp"
#include "attach/recorder/sampled.hpp"
#include "platform/raw_syscall.hpp"
#include "record/scan_waits.hpp"

namespace heapwright::attach::recorder {

using agent::Entry;
using agent::Hook;
using agent::Operator;
using trace::EventKind;

namespace {

using HooksOfHeap = std::array<Hook, agent::entry_count>;

template <typename Signature, Heap heap = Heap::first>
Signature* real(Entry entry) noexcept {
  return reinterpret_cast<Signature*>(agent_of<heap>().real[agent::index_of(entry)]);
}

template <Heap heap, Entry entry, EventKind kind, bool is_failure_recorded = true, typename RealCall>
[[gnu::always_inline]] inline void* make(const void* frame, std::size_t size, std::size_t alignment,
                                         RealCall call) noexcept {
  Thread* const thread = enter(frame, activity_in<heap>);
  if (thread == nullptr) [[unlikely]] {
    return call();
  }
  if (is_sampled_out(*thread, size)) {
    void* const block = call();
    leave(*thread);
    return block;
  }
  Recorded<heap> recorded(*thread, frame, entry);
  void* const block = call();
  if ((block == nullptr && !is_failure_recorded) || is_unrecordable_sample(*thread, block)) [[unlikely]] {
    leave(*thread);
    return block;
  }
  recorded.made(kind, block, size, alignment);
  return block;
}

template <Heap heap, Entry entry, EventKind kind, typename RealCall>
[[gnu::always_inline]] inline void release(const void* frame, void* block, std::size_t size,
                                           std::size_t alignment, RealCall call) noexcept {
  if (is_nothing_to_release(block)) return call();
  Thread* const thread = enter(frame, activity_in<heap>);
  if (thread == nullptr) [[unlikely]] {
    return call();
  }
  if (is_release_sampled_out(block)) {
    call();
    return leave(*thread);
  }
  Recorded<heap> recorded(*thread, frame, entry);
  call();
  recorded.released(kind, block, size, alignment);
}

template <Heap heap>
void* hook_malloc(std::size_t size) noexcept {
  return make<heap, Entry::malloc_, EventKind::malloc_>(__builtin_frame_address(0), size, 0, [=]() noexcept {
    return real<void*(std::size_t), heap>(Entry::malloc_)(size);
  });
}

template <Heap heap>
void hook_free(void* block) noexcept {
  auto* const real_free = real<void(void*), heap>(Entry::free_);
  if (agent::is_own_call(agent_of<heap>(), __builtin_return_address(0))) [[unlikely]] {
    return real_free(block);
  }
  release<heap, Entry::free_, EventKind::free_>(__builtin_frame_address(0), block, 0, 0,
                                                [=]() noexcept { real_free(block); });
}

template <Heap heap>
void* hook_calloc(std::size_t count, std::size_t size) noexcept {
  return make<heap, Entry::calloc_, EventKind::calloc_>(
      __builtin_frame_address(0), agent::product_or_max(count, size), 0,
      [=]() noexcept { return real<void*(std::size_t, std::size_t), heap>(Entry::calloc_)(count, size); });
}

// A release of a sampled block, an allocation that may be sampled, or both; each half is recorded separately.
template <Heap heap, Entry entry, typename RealCall>
[[gnu::always_inline]] inline void* reallocate_sampled(Thread& thread, const void* frame, void* old_block,
                                                       std::size_t size, RealCall call) noexcept {
  const record::SampledBlocks sampled = sampled_blocks();
  const bool was_sampled = old_block != nullptr && sampled.remove(old_block);
  const bool is_wanted = !is_sampled_out(thread, size);
  Recorded<heap> recorded(thread, frame, entry);
  void* const block = call();
  const bool has_failed = block == nullptr && size != 0;
  if (has_failed && was_sampled) sampled.add(old_block);
  if (block != nullptr && is_wanted && sampled.add(block)) {
    recorded.made(EventKind::realloc_, block, size, 0, was_sampled ? old_block : nullptr);
  } else if (was_sampled && !has_failed) {
    recorded.released(EventKind::free_, old_block, 0, 0);
  } else {
    leave(thread);
  }
  return block;
}

template <Heap heap, Entry entry, typename RealCall>
[[gnu::always_inline]] inline void* reallocate(const void* frame, void* old_block, std::size_t size,
                                               RealCall call) noexcept {
  Thread* const thread = enter(frame, activity_in<heap>);
  if (thread == nullptr) [[unlikely]] {
    return call();
  }
  if (sample_mean_bytes() != 0) return reallocate_sampled<heap, entry>(*thread, frame, old_block, size, call);
  Recorded<heap> recorded(*thread, frame, entry);
  void* const block = call();
  recorded.made(EventKind::realloc_, block, size, 0, old_block);
  return block;
}

template <Heap heap>
void* hook_realloc(void* old_block, std::size_t size) noexcept {
  return reallocate<heap, Entry::realloc_>(__builtin_frame_address(0), old_block, size, [=]() noexcept {
    return real<void*(void*, std::size_t), heap>(Entry::realloc_)(old_block, size);
  });
}

// rallocx has flags in place of the alignment.
template <Heap heap, Entry entry>
void* hook_realloc_further(void* old_block, std::size_t size, std::size_t further) noexcept {
  return reallocate<heap, entry>(__builtin_frame_address(0), old_block, size, [=]() noexcept {
    return real<void*(void*, std::size_t, std::size_t), heap>(entry)(old_block, size, further);
  });
}

template <Heap heap>
int hook_posix_memalign(void** result, std::size_t alignment, std::size_t size) noexcept {
  constexpr Entry entry = Entry::posix_memalign_;
  int error = 0;
  make<heap, entry, EventKind::posix_memalign_>(
      __builtin_frame_address(0), size, alignment, [&]() noexcept -> void* {
        error = real<int(void**, std::size_t, std::size_t), heap>(entry)(result, alignment, size);
        return error == 0 ? *result : nullptr;
      });
  return error;
}

template <Heap heap, Entry entry, EventKind kind>
void* hook_aligned(std::size_t alignment, std::size_t size) noexcept {
  return make<heap, entry, kind>(__builtin_frame_address(0), size, alignment, [=]() noexcept {
    return real<void*(std::size_t, std::size_t), heap>(entry)(alignment, size);
  });
}

template <Heap heap, Entry entry, EventKind kind>
void* hook_of_pages(std::size_t size) noexcept {
  return make<heap, entry, kind>(__builtin_frame_address(0), size, 0,
                                 [=]() noexcept { return real<void*(std::size_t), heap>(entry)(size); });
}

// The meaning of the second and third argument of a releasing function.
enum class Further { nothing, size, alignment, size_and_alignment, alignment_and_size };

template <Heap heap, Entry entry, EventKind kind, Further further>
void hook_release(void* block, std::size_t a, std::size_t b) noexcept {
  std::size_t size = 0;
  std::size_t alignment = 0;
  if constexpr (further == Further::size || further == Further::size_and_alignment) size = a;
  if constexpr (further == Further::alignment || further == Further::alignment_and_size) alignment = a;
  if constexpr (further == Further::size_and_alignment) alignment = b;
  if constexpr (further == Further::alignment_and_size) size = b;
  release<heap, entry, kind>(__builtin_frame_address(0), block, size, alignment, [=]() noexcept {
    real<void(void*, std::size_t, std::size_t), heap>(entry)(block, a, b);
  });
}

// `real` does not throw: it is malloc, or the allocator's nothrow form. The function called after its failure
// may throw, so nothing of the agent may be on the stack: the hook jumps to it. The trace then shows that
// function's call of malloc, which fails as well.
constexpr char nothrow_tag = 0;

template <Heap heap, Entry entry, EventKind kind, bool is_failure_recorded>
[[gnu::noinline]] void* make_by_operator(const void* frame, std::size_t size, std::size_t a) noexcept {
  constexpr bool is_aligned = kind >= EventKind::new_aligned && kind <= EventKind::new_array_aligned_nothrow;
  return make<heap, entry, kind, is_failure_recorded>(frame, size, is_aligned ? a : 0, [=]() noexcept {
    return real<Operator, heap>(entry)(
        size == 0 ? 1 : size, is_aligned ? a : reinterpret_cast<std::size_t>(&nothrow_tag), &nothrow_tag);
  });
}

template <Heap heap, Entry entry, EventKind kind>
void* hook_throwing(std::size_t size, std::size_t a, const void* b) {
  void* const block = make_by_operator<heap, entry, kind, false>(__builtin_frame_address(0), size, a);
  if (block != nullptr) [[likely]] {
    return block;
  }
  return reinterpret_cast<Operator*>(agent_of<heap>().otherwise[agent::index_of(entry)])(size, a, b);
}

template <Heap heap, Entry entry, EventKind kind>
void* hook_nothrow(std::size_t size, std::size_t a, const void*) noexcept {
  return make_by_operator<heap, entry, kind, true>(__builtin_frame_address(0), size, a);
}

template <Heap heap>
void* hook_mallocx(std::size_t size, std::size_t flags_word) noexcept {
  constexpr Entry entry = Entry::mallocx_;
  const void* const frame = __builtin_frame_address(0);
  const auto flags = static_cast<int>(flags_word);
  const auto call = [=]() noexcept { return real<void*(std::size_t, int), heap>(entry)(size, flags); };
  const int log2 = flags & agent::flags_alignment;
  if (log2 != 0) {
    return make<heap, entry, EventKind::aligned_alloc_>(frame, size, std::size_t{1} << log2, call);
  }
  if ((flags & agent::flags_zero) != 0) return make<heap, entry, EventKind::calloc_>(frame, size, 0, call);
  return make<heap, entry, EventKind::malloc_>(frame, size, 0, call);
}

template <Heap heap, Entry entry, EventKind kind>
void* hook_size_aligned(std::size_t size, std::size_t alignment) noexcept {
  return make<heap, entry, kind>(__builtin_frame_address(0), size, alignment, [=]() noexcept {
    return real<void*(std::size_t, std::size_t), heap>(entry)(size, alignment);
  });
}

template <Heap heap, Entry entry>
void* hook_zeroed(std::size_t size) noexcept {
  return make<heap, entry, EventKind::calloc_>(__builtin_frame_address(0), size, 0, [=]() noexcept {
    return real<void*(std::size_t), heap>(entry)(size);
  });
}

// Memory that the program maps itself; not what libc does for its own ends: a statically linked one is known
// only by its threads' stacks.
[[gnu::always_inline]] inline Thread* enter_mapping(const void* frame, const void* return_address) noexcept {
  const std::uint64_t caller = reinterpret_cast<std::uint64_t>(return_address);
  if (caller - heapwright_agent.libc_code < heapwright_agent.libc_code_bytes) return nullptr;
  return enter(frame);
}

std::uint64_t number_of(const void* address) noexcept { return reinterpret_cast<std::uint64_t>(address); }

void* hook_mmap(void* hint, std::size_t bytes, int protection, int flags, int file, long offset) noexcept {
  const void* const frame = __builtin_frame_address(0);
  auto* const call = real<void*(void*, std::size_t, int, int, int, long)>(Entry::mmap_);
  const bool is_stack = (flags & MAP_STACK) != 0;
  Thread* const thread = is_stack ? nullptr : enter_mapping(frame, __builtin_return_address(0));
  if (thread == nullptr) return call(hint, bytes, protection, flags, file, offset);
  Recorded<Heap::first> recorded(*thread, frame, Entry::count_);
  void* const address = call(hint, bytes, protection, flags, file, offset);
  recorded.other(Call{.kind = EventKind::mmap_,
                      .size = bytes,
                      .usable = static_cast<std::uint64_t>(protection & 0xff) |
                                static_cast<std::uint64_t>(flags & 0xffffff) << 8U,
                      .address = address == MAP_FAILED ? 0 : number_of(address)});
  return address;
}

int hook_munmap(void* address, std::size_t bytes) noexcept {
  const void* const frame = __builtin_frame_address(0);
  auto* const call = real<int(void*, std::size_t)>(Entry::munmap_);
  Thread* const thread = enter_mapping(frame, __builtin_return_address(0));
  if (thread == nullptr) return call(address, bytes);
  Recorded<Heap::first> recorded(*thread, frame, Entry::count_);
  const int result = call(address, bytes);
  recorded.other(
      Call{.kind = EventKind::munmap_, .size = bytes, .address = result == 0 ? number_of(address) : 0});
  return result;
}

int hook_madvise(void* address, std::size_t bytes, int advice) noexcept {
  const void* const frame = __builtin_frame_address(0);
  auto* const call = real<int(void*, std::size_t, int)>(Entry::madvise_);
  Thread* const thread = enter_mapping(frame, __builtin_return_address(0));
  if (thread == nullptr) return call(address, bytes, advice);
  Recorded<Heap::first> recorded(*thread, frame, Entry::count_);
  const int result = call(address, bytes, advice);
  recorded.other(Call{.kind = EventKind::madvise_,
                      .size = bytes,
                      .usable = static_cast<std::uint64_t>(advice & 0xff),
                      .address = result == 0 ? number_of(address) : 0});
  return result;
}

// The last argument is passed on even if the caller gave none, as libc does.
void* hook_mremap(void* old_address, std::size_t old_bytes, std::size_t new_bytes, int flags,
                  void* new_address) noexcept {
  const void* const frame = __builtin_frame_address(0);
  auto* const call = real<void*(void*, std::size_t, std::size_t, int, void*)>(Entry::mremap_);
  Thread* const thread = enter_mapping(frame, __builtin_return_address(0));
  if (thread == nullptr) return call(old_address, old_bytes, new_bytes, flags, new_address);
  Recorded<Heap::first> recorded(*thread, frame, Entry::count_);
  void* const address = call(old_address, old_bytes, new_bytes, flags, new_address);
  recorded.other(Call{.kind = EventKind::mremap_,
                      .size = new_bytes,
                      .usable = old_bytes,
                      .address = address == MAP_FAILED ? 0 : number_of(address),
                      .old_address = number_of(old_address)});
  return address;
}

// Not that of a child of vfork, which has another number.
bool is_own_end() noexcept {
  const session::ProcessBlock& block = *heapwright_agent.block;
  const bool is_confined = block.is_confined.load(std::memory_order_relaxed) != 0;
  if (heapwright_agent_threads.is_active == 0 || is_confined) return false;
  const session::Control& control = *heapwright_agent.control;
  if ((control.flags & (session::scan_residency | session::snapshot_at_end)) == 0) return false;
  return control.is_recording.load(std::memory_order_acquire) != 0 &&
         static_cast<std::uint32_t>(platform::raw_syscall(SYS_getpid)) == block.process_id;
}

// The final memory is seen before it goes.
void hook_exit(int status) noexcept {
  if (is_own_end()) record::wait_for_last_scan(*heapwright_agent.block, collector());
  real<void(int)>(Entry::exit_)(status);
}

// Retires the library's slots in the table of program counters: another library may take its place at once.
int hook_dlclose(void* library) noexcept {
  const int result = real<int(void*)>(Entry::dlclose_)(library);
  if (heapwright_agent_threads.is_active == 0) return result;
  __atomic_add_fetch(&heapwright_agent.threads_unloading, 1, __ATOMIC_RELAXED);
  unwind::forget_unloaded(tables());
  __atomic_sub_fetch(&heapwright_agent.threads_unloading, 1, __ATOMIC_RELAXED);
  return result;
}

// In the order of Entry. Those of no allocator are the same in both.
template <Heap heap>
constexpr HooksOfHeap hooks_of{{
    hook_malloc<heap>,
    hook_calloc<heap>,
    hook_realloc<heap>,
    hook_free<heap>,
    hook_posix_memalign<heap>,
    hook_aligned<heap, Entry::aligned_alloc_, EventKind::aligned_alloc_>,
    hook_aligned<heap, Entry::memalign_, EventKind::memalign_>,
    hook_of_pages<heap, Entry::valloc_, EventKind::valloc_>,
    hook_of_pages<heap, Entry::pvalloc_, EventKind::pvalloc_>,
    hook_release<heap, Entry::free_sized_, EventKind::free_sized_, Further::size>,
    hook_release<heap, Entry::free_aligned_sized_, EventKind::free_aligned_sized_,
                 Further::alignment_and_size>,
    hook_throwing<heap, Entry::new_, EventKind::new_plain>,
    hook_throwing<heap, Entry::new_array_, EventKind::new_array>,
    hook_nothrow<heap, Entry::new_nothrow_, EventKind::new_nothrow>,
    hook_nothrow<heap, Entry::new_array_nothrow_, EventKind::new_array_nothrow>,
    hook_throwing<heap, Entry::new_aligned_, EventKind::new_aligned>,
    hook_throwing<heap, Entry::new_array_aligned_, EventKind::new_array_aligned>,
    hook_nothrow<heap, Entry::new_aligned_nothrow_, EventKind::new_aligned_nothrow>,
    hook_nothrow<heap, Entry::new_array_aligned_nothrow_, EventKind::new_array_aligned_nothrow>,
    hook_release<heap, Entry::delete_, EventKind::delete_plain, Further::nothing>,
    hook_release<heap, Entry::delete_array_, EventKind::delete_array, Further::nothing>,
    hook_release<heap, Entry::delete_sized_, EventKind::delete_sized, Further::size>,
    hook_release<heap, Entry::delete_array_sized_, EventKind::delete_array_sized, Further::size>,
    hook_release<heap, Entry::delete_nothrow_, EventKind::delete_nothrow, Further::nothing>,
    hook_release<heap, Entry::delete_array_nothrow_, EventKind::delete_array_nothrow, Further::nothing>,
    hook_release<heap, Entry::delete_aligned_, EventKind::delete_aligned, Further::alignment>,
    hook_release<heap, Entry::delete_array_aligned_, EventKind::delete_array_aligned, Further::alignment>,
    hook_release<heap, Entry::delete_sized_aligned_, EventKind::delete_sized_aligned,
                 Further::size_and_alignment>,
    hook_release<heap, Entry::delete_array_sized_aligned_, EventKind::delete_array_sized_aligned,
                 Further::size_and_alignment>,
    hook_release<heap, Entry::delete_aligned_nothrow_, EventKind::delete_aligned_nothrow, Further::alignment>,
    hook_release<heap, Entry::delete_array_aligned_nothrow_, EventKind::delete_array_aligned_nothrow,
                 Further::alignment>,
    hook_dlclose,
    hook_mallocx<heap>,
    hook_realloc_further<heap, Entry::rallocx_>,
    hook_release<heap, Entry::dallocx_, EventKind::free_, Further::nothing>,
    hook_release<heap, Entry::sdallocx_, EventKind::free_sized_, Further::size>,
    hook_zeroed<heap, Entry::zalloc_>,
    hook_size_aligned<heap, Entry::malloc_aligned_, EventKind::aligned_alloc_>,
    hook_size_aligned<heap, Entry::zalloc_aligned_, EventKind::aligned_alloc_>,
    hook_realloc_further<heap, Entry::realloc_aligned_>,
    hook_release<heap, Entry::free_size_, EventKind::free_sized_, Further::size>,
    hook_release<heap, Entry::free_size_aligned_, EventKind::free_sized_, Further::size>,
    hook_release<heap, Entry::free_aligned_, EventKind::free_, Further::nothing>,
    hook_mmap,
    hook_munmap,
    hook_mremap,
    hook_madvise,
    hook_exit,
    hook_execve,
    hook_prctl,
    hook_syscall,
}};

}  // namespace

HEAPWRIGHT_AGENT_DATA constinit const HooksOfHeap heapwright_agent_hooks[heap_count]{hooks_of<Heap::first>,
                                                                                     hooks_of<Heap::second>};

}  // namespace heapwright::attach::recorder
