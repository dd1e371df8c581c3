// SPDX-License-Identifier: MIT
// The hooks that patched functions jump to. A hook has the arguments and the return address of the original
// call, calls the function's first instructions, which have been moved, and counts. Apart from reading the
// clock, it makes no calls other than the program's.
#include <array>
#include <cstddef>
#include <cstdint>

#include "attach/agent/confining.hpp"
#include "attach/agent/counting.hpp"

namespace heapwright::attach::agent {
namespace {

using HooksOfHeap = std::array<Hook, entry_count>;

template <typename Signature, Heap heap>
Signature* real(Entry entry) noexcept {
  return reinterpret_cast<Signature*>(agent_of<heap>().real[index_of(entry)]);
}

// malloc and free are the most frequent. Those of the first allocator call no other entry: no guard. One in
// the executable may call the first.
template <Heap heap>
void* hook_malloc(std::size_t size) noexcept {
  const auto call = [=]() noexcept { return real<void*(std::size_t), heap>(Entry::malloc_)(size); };
  if constexpr (heap == Heap::second) return make_guarded<heap, Counted::malloc_>(size, call);
  const Turn turn = take_turn();
  void* block = make_call(turn, &CallTable::making, call);
  count_made<heap, Failure::counted>(turn, Counted::malloc_, size, block);
  return block;
}

template <Heap heap>
void hook_free(void* block) noexcept {
  auto* const real_free = real<void(void*), heap>(Entry::free_);
  if (is_own_call(agent_of<heap>(), __builtin_return_address(0))) [[unlikely]] {
    end_thread();
    return real_free(block);
  }
  if constexpr (heap == Heap::second) {
    return release_guarded<heap, Counted::free_>(block, [=]() noexcept { real_free(block); });
  }
  if (block == nullptr) [[unlikely]] {
    return count_null_release();
  }
  const Turn turn = take_turn();
  count_released<heap>(turn, Counted::free_, block);
  if (!turn.is_timed) [[likely]] {
    return real_free(block);
  }
  make_call(turn, &CallTable::releasing, [=]() noexcept {
    real_free(block);
    return 0;
  });
}

template <Heap heap>
void* hook_calloc(std::size_t count, std::size_t size) noexcept {
  return make_guarded<heap, Counted::calloc_>(product_or_max(count, size), [=]() noexcept {
    return real<void*(std::size_t, std::size_t), heap>(Entry::calloc_)(count, size);
  });
}

template <Heap heap, typename Call>
[[gnu::always_inline]] inline void* reallocate(void* old_block, std::size_t size, Call call) noexcept {
  const Turn turn = take_turn();
  const std::size_t old_usable =
      old_block != nullptr && turn.table != nullptr ? usable_bytes<heap>(old_block) : 0;
  void* block;
  {
    const Guard guard(turn.table != nullptr ? turn.thread : nullptr);
    block = make_call(turn, &CallTable::making, call);
  }
  if (turn.table == nullptr) return block;
  const counters::Reallocation made{.had_block = old_block != nullptr,
                                    .has_block = block != nullptr,
                                    .size = size,
                                    .old_usable = old_usable,
                                    .usable = block != nullptr ? usable_bytes<heap>(block) : 0};
  turn.is_shared ? counters::tally_realloc<Together>(*turn.table, made)
                 : counters::tally_realloc<Alone>(*turn.table, made);
  return block;
}

template <Heap heap>
void* hook_realloc(void* old_block, std::size_t size) noexcept {
  return reallocate<heap>(old_block, size, [=]() noexcept {
    return real<void*(void*, std::size_t), heap>(Entry::realloc_)(old_block, size);
  });
}

// The third argument: flags, or the alignment.
template <Heap heap, Entry entry>
void* hook_realloc_further(void* old_block, std::size_t size, std::size_t further) noexcept {
  return reallocate<heap>(old_block, size, [=]() noexcept {
    return real<void*(void*, std::size_t, std::size_t), heap>(entry)(old_block, size, further);
  });
}

template <Heap heap>
int hook_posix_memalign(void** result, std::size_t alignment, std::size_t size) noexcept {
  int error = 0;
  make_guarded<heap, Counted::aligned_>(size, [&]() noexcept -> void* {
    error =
        real<int(void**, std::size_t, std::size_t), heap>(Entry::posix_memalign_)(result, alignment, size);
    return error == 0 ? *result : nullptr;
  });
  return error;
}

template <Heap heap, Entry entry>
void* hook_aligned(std::size_t alignment, std::size_t size) noexcept {
  return make_guarded<heap, Counted::aligned_>(
      size, [=]() noexcept { return real<void*(std::size_t, std::size_t), heap>(entry)(alignment, size); });
}

// mimalloc's order of the arguments.
template <Heap heap, Entry entry>
void* hook_size_aligned(std::size_t size, std::size_t alignment) noexcept {
  return make_guarded<heap, Counted::aligned_>(
      size, [=]() noexcept { return real<void*(std::size_t, std::size_t), heap>(entry)(size, alignment); });
}

template <Heap heap, Entry entry, Counted function>
void* hook_of_size(std::size_t size) noexcept {
  return make_guarded<heap, function>(size,
                                      [=]() noexcept { return real<void*(std::size_t), heap>(entry)(size); });
}

template <Heap heap>
void* hook_mallocx(std::size_t size, std::size_t flags_word) noexcept {
  const auto flags = static_cast<int>(flags_word);
  const auto call = [=]() noexcept {
    return real<void*(std::size_t, int), heap>(Entry::mallocx_)(size, flags);
  };
  if ((flags & flags_alignment) != 0) return make_guarded<heap, Counted::aligned_>(size, call);
  if ((flags & flags_zero) != 0) return make_guarded<heap, Counted::calloc_>(size, call);
  return make_guarded<heap, Counted::malloc_>(size, call);
}

// Sized and aligned forms have further arguments, which are passed on in their registers.
template <Heap heap, Entry entry, Counted function>
void hook_release(void* block, std::size_t a, std::size_t b) noexcept {
  release_guarded<heap, function>(
      block, [=]() noexcept { real<void(void*, std::size_t, std::size_t), heap>(entry)(block, a, b); });
}

// `real` does not throw: it is malloc, or the allocator's nothrow form. The function called after its failure
// may throw, so nothing of the agent may be on the stack: the hook jumps to it.
constexpr char nothrow_tag = 0;

template <Heap heap, Entry entry, Counted function, Failure failure>
[[gnu::noinline]] void* make_by_operator(std::size_t size, std::size_t a) noexcept {
  return make_guarded<heap, function, failure>(size == 0 ? 1 : size, [=]() noexcept {
    constexpr bool is_aligned = function == Counted::aligned_;
    return real<Operator, heap>(entry)(
        size == 0 ? 1 : size, is_aligned ? a : reinterpret_cast<std::size_t>(&nothrow_tag), &nothrow_tag);
  });
}

template <Heap heap, Entry entry, Counted function>
void* hook_throwing(std::size_t size, std::size_t a, const void* b) {
  void* const block = make_by_operator<heap, entry, function, Failure::counted_later>(size, a);
  if (block != nullptr) [[likely]] {
    return block;
  }
  return reinterpret_cast<Operator*>(agent_of<heap>().otherwise[index_of(entry)])(size, a, b);
}

template <Heap heap, Entry entry, Counted function>
void* hook_nothrow(std::size_t size, std::size_t a, const void*) noexcept {
  return make_by_operator<heap, entry, function, Failure::counted>(size, a);
}

// From here on no call is timed.
void heed(Confining confining) noexcept {
  if (confining) __atomic_store_n(&heapwright_agent.is_confined, 1, __ATOMIC_RELAXED);
}

int hook_prctl(int option, long a, long b, long c, long d) noexcept {
  heed(confining_by_prctl(option, a));
  return real<int(int, long, long, long, long), Heap::first>(Entry::prctl_)(option, a, b, c, d);
}

long hook_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept {
  heed(confining_by_syscall(number, a, b));
  return real<long(long, long, long, long, long, long, long), Heap::first>(Entry::syscall_)(number, a, b, c,
                                                                                            d, e, f);
}

// In the order of Entry.
template <Heap heap>
constexpr HooksOfHeap hooks_of{{
    hook_malloc<heap>,
    hook_calloc<heap>,
    hook_realloc<heap>,
    hook_free<heap>,
    hook_posix_memalign<heap>,
    hook_aligned<heap, Entry::aligned_alloc_>,
    hook_aligned<heap, Entry::memalign_>,
    hook_of_size<heap, Entry::valloc_, Counted::aligned_>,
    hook_of_size<heap, Entry::pvalloc_, Counted::aligned_>,
    hook_release<heap, Entry::free_sized_, Counted::free_>,
    hook_release<heap, Entry::free_aligned_sized_, Counted::free_>,
    hook_throwing<heap, Entry::new_, Counted::new_>,
    hook_throwing<heap, Entry::new_array_, Counted::new_>,
    hook_nothrow<heap, Entry::new_nothrow_, Counted::new_>,
    hook_nothrow<heap, Entry::new_array_nothrow_, Counted::new_>,
    hook_throwing<heap, Entry::new_aligned_, Counted::aligned_>,
    hook_throwing<heap, Entry::new_array_aligned_, Counted::aligned_>,
    hook_nothrow<heap, Entry::new_aligned_nothrow_, Counted::aligned_>,
    hook_nothrow<heap, Entry::new_array_aligned_nothrow_, Counted::aligned_>,
    hook_release<heap, Entry::delete_, Counted::delete_>,
    hook_release<heap, Entry::delete_array_, Counted::delete_>,
    hook_release<heap, Entry::delete_sized_, Counted::delete_>,
    hook_release<heap, Entry::delete_array_sized_, Counted::delete_>,
    hook_release<heap, Entry::delete_nothrow_, Counted::delete_>,
    hook_release<heap, Entry::delete_array_nothrow_, Counted::delete_>,
    hook_release<heap, Entry::delete_aligned_, Counted::delete_>,
    hook_release<heap, Entry::delete_array_aligned_, Counted::delete_>,
    hook_release<heap, Entry::delete_sized_aligned_, Counted::delete_>,
    hook_release<heap, Entry::delete_array_sized_aligned_, Counted::delete_>,
    hook_release<heap, Entry::delete_aligned_nothrow_, Counted::delete_>,
    hook_release<heap, Entry::delete_array_aligned_nothrow_, Counted::delete_>,
    nullptr,  // dlclose
    hook_mallocx<heap>,
    hook_realloc_further<heap, Entry::rallocx_>,
    hook_release<heap, Entry::dallocx_, Counted::free_>,
    hook_release<heap, Entry::sdallocx_, Counted::free_>,
    hook_of_size<heap, Entry::zalloc_, Counted::calloc_>,
    hook_size_aligned<heap, Entry::malloc_aligned_>,
    hook_size_aligned<heap, Entry::zalloc_aligned_>,
    hook_realloc_further<heap, Entry::realloc_aligned_>,
    hook_release<heap, Entry::free_size_, Counted::free_>,
    hook_release<heap, Entry::free_size_aligned_, Counted::free_>,
    hook_release<heap, Entry::free_aligned_, Counted::free_>,
    nullptr,  // mmap
    nullptr,  // munmap
    nullptr,  // mremap
    nullptr,  // madvise
    nullptr,  // _exit
    nullptr,  // execve
    hook_prctl,
    hook_syscall,
}};

}  // namespace

CountingAgent heapwright_agent;

HEAPWRIGHT_AGENT_DATA constinit const HooksOfHeap heapwright_agent_hooks[heap_count]{hooks_of<Heap::first>,
                                                                                     hooks_of<Heap::second>};

}  // namespace heapwright::attach::agent
