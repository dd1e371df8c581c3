// SPDX-License-Identifier: MIT
// The hooks that patched functions jump to. A hook has the arguments and the return address of the original
// call, calls the function's first instructions, which have been moved, and counts. Apart from reading the
// clock, it makes no calls other than the program's.
#include <cstddef>
#include <cstdint>

#include "attach/agent/counting.hpp"

namespace heapwright::attach::agent {
namespace {

template <typename Signature>
Signature* real(Entry entry) noexcept {
  return reinterpret_cast<Signature*>(heapwright_agent.common.real[index_of(entry)]);
}

// Neither malloc nor free calls another entry, and they are the most frequent: no guard.
void* hook_malloc(std::size_t size) noexcept {
  const Turn turn = take_turn();
  void* block = make_call(turn, &CallTable::making,
                          [=]() noexcept { return real<void*(std::size_t)>(Entry::malloc_)(size); });
  count_made<Failure::counted>(turn, Counted::malloc_, size, block);
  return block;
}

void hook_free(void* block) noexcept {
  auto* const real_free = real<void(void*)>(Entry::free_);
  if (is_own_call(heapwright_agent.common, __builtin_return_address(0))) [[unlikely]] {
    end_thread();
    return real_free(block);
  }
  if (block == nullptr) [[unlikely]] {
    return count_null_release();
  }
  const Turn turn = take_turn();
  count_released(turn, Counted::free_, block);
  if (!turn.is_timed) [[likely]] {
    return real_free(block);
  }
  make_call(turn, &CallTable::releasing, [=]() noexcept {
    real_free(block);
    return 0;
  });
}

void* hook_calloc(std::size_t count, std::size_t size) noexcept {
  return make_guarded<Counted::calloc_>(product_or_max(count, size), [=]() noexcept {
    return real<void*(std::size_t, std::size_t)>(Entry::calloc_)(count, size);
  });
}

void* hook_realloc(void* old_block, std::size_t size) noexcept {
  const Turn turn = take_turn();
  const std::size_t old_usable = old_block != nullptr && turn.table != nullptr ? usable_bytes(old_block) : 0;
  void* block;
  {
    const Guard guard(turn.table != nullptr ? turn.thread : nullptr);
    block = make_call(turn, &CallTable::making, [=]() noexcept {
      return real<void*(void*, std::size_t)>(Entry::realloc_)(old_block, size);
    });
  }
  if (turn.table == nullptr) return block;
  const counters::Reallocation call{.had_block = old_block != nullptr,
                                    .has_block = block != nullptr,
                                    .size = size,
                                    .old_usable = old_usable,
                                    .usable = block != nullptr ? usable_bytes(block) : 0};
  turn.is_shared ? counters::tally_realloc<Together>(*turn.table, call)
                 : counters::tally_realloc<Alone>(*turn.table, call);
  return block;
}

int hook_posix_memalign(void** result, std::size_t alignment, std::size_t size) noexcept {
  int error = 0;
  make_guarded<Counted::aligned_>(size, [&]() noexcept -> void* {
    error = real<int(void**, std::size_t, std::size_t)>(Entry::posix_memalign_)(result, alignment, size);
    return error == 0 ? *result : nullptr;
  });
  return error;
}

template <Entry entry>
void* hook_aligned(std::size_t alignment, std::size_t size) noexcept {
  return make_guarded<Counted::aligned_>(
      size, [=]() noexcept { return real<void*(std::size_t, std::size_t)>(entry)(alignment, size); });
}

template <Entry entry>
void* hook_of_pages(std::size_t size) noexcept {
  return make_guarded<Counted::aligned_>(size,
                                         [=]() noexcept { return real<void*(std::size_t)>(entry)(size); });
}

// Sized and aligned forms have further arguments, which are passed on in their registers.
template <Entry entry, Counted function>
void hook_release(void* block, std::size_t a, std::size_t b) noexcept {
  release_guarded<function>(
      block, [=]() noexcept { real<void(void*, std::size_t, std::size_t)>(entry)(block, a, b); });
}

// `real` does not throw: it is malloc, or the allocator's nothrow form. The function called after its failure
// may throw, so nothing of the agent may be on the stack: the hook jumps to it.
constexpr char nothrow_tag = 0;

template <Entry entry, Counted function, Failure failure>
[[gnu::noinline]] void* make_by_operator(std::size_t size, std::size_t a) noexcept {
  return make_guarded<function, failure>(size == 0 ? 1 : size, [=]() noexcept {
    constexpr bool is_aligned = function == Counted::aligned_;
    return real<Operator>(entry)(size == 0 ? 1 : size,
                                 is_aligned ? a : reinterpret_cast<std::size_t>(&nothrow_tag), &nothrow_tag);
  });
}

template <Entry entry, Counted function>
void* hook_throwing(std::size_t size, std::size_t a, const void* b) {
  void* const block = make_by_operator<entry, function, Failure::counted_later>(size, a);
  if (block != nullptr) [[likely]] {
    return block;
  }
  return reinterpret_cast<Operator*>(heapwright_agent.common.otherwise[index_of(entry)])(size, a, b);
}

template <Entry entry, Counted function>
void* hook_nothrow(std::size_t size, std::size_t a, const void*) noexcept {
  return make_by_operator<entry, function, Failure::counted>(size, a);
}

}  // namespace

CountingAgent heapwright_agent;

// In the order of Entry.
HEAPWRIGHT_AGENT_DATA constinit const Hook heapwright_agent_hooks[entry_count]{
    hook_malloc,
    hook_calloc,
    hook_realloc,
    hook_free,
    hook_posix_memalign,
    hook_aligned<Entry::aligned_alloc_>,
    hook_aligned<Entry::memalign_>,
    hook_of_pages<Entry::valloc_>,
    hook_of_pages<Entry::pvalloc_>,
    hook_release<Entry::free_sized_, Counted::free_>,
    hook_release<Entry::free_aligned_sized_, Counted::free_>,
    hook_throwing<Entry::new_, Counted::new_>,
    hook_throwing<Entry::new_array_, Counted::new_>,
    hook_nothrow<Entry::new_nothrow_, Counted::new_>,
    hook_nothrow<Entry::new_array_nothrow_, Counted::new_>,
    hook_throwing<Entry::new_aligned_, Counted::aligned_>,
    hook_throwing<Entry::new_array_aligned_, Counted::aligned_>,
    hook_nothrow<Entry::new_aligned_nothrow_, Counted::aligned_>,
    hook_nothrow<Entry::new_array_aligned_nothrow_, Counted::aligned_>,
    hook_release<Entry::delete_, Counted::delete_>,
    hook_release<Entry::delete_array_, Counted::delete_>,
    hook_release<Entry::delete_sized_, Counted::delete_>,
    hook_release<Entry::delete_array_sized_, Counted::delete_>,
    hook_release<Entry::delete_nothrow_, Counted::delete_>,
    hook_release<Entry::delete_array_nothrow_, Counted::delete_>,
    hook_release<Entry::delete_aligned_, Counted::delete_>,
    hook_release<Entry::delete_array_aligned_, Counted::delete_>,
    hook_release<Entry::delete_sized_aligned_, Counted::delete_>,
    hook_release<Entry::delete_array_sized_aligned_, Counted::delete_>,
    hook_release<Entry::delete_aligned_nothrow_, Counted::delete_>,
    hook_release<Entry::delete_array_aligned_nothrow_, Counted::delete_>,
    nullptr,
};

}  // namespace heapwright::attach::agent
