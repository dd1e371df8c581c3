// SPDX-License-Identifier: MIT
// malloc and its family. errno is as the real function left it: nothing here changes it.
#include <cerrno>
#include <cstring>

#include "count/hooks.hpp"
#include "platform/early_pool.hpp"

namespace heapwright::count {
namespace {

using platform::early_size;
using platform::is_early;

std::size_t product_or_max(std::size_t count, std::size_t size) noexcept {
  std::size_t product = 0;
  return __builtin_mul_overflow(count, size, &product) ? SIZE_MAX : product;
}

// Moves an early block to the real heap.
void* move_early(void* old_block, std::size_t size) noexcept {
  void* block = real.malloc(size);
  if (block == nullptr) return nullptr;
  const std::size_t old_size = early_size(old_block);
  std::memcpy(block, old_block, old_size < size ? old_size : size);
  return block;
}

void* reallocate(void* old_block, std::size_t size) noexcept {
  return is_early(old_block) ? move_early(old_block, size) : real.realloc(old_block, size);
}

// Counting adds little to the real call: a realloc does more than a malloc.
void* count_reallocation(void* old_block, std::size_t size) noexcept {
  Turn turn{.table = current_thread->table};
  if (!counters::may_just_count(current_thread->until_timed)) turn = begin_turn();
  const bool had_block = old_block != nullptr && !is_early(old_block);
  const std::size_t old_usable = had_block && turn.table != nullptr ? usable_bytes(old_block) : 0;
  void* block = make_call(turn, &CallTable::making, [=]() noexcept { return reallocate(old_block, size); });
  if (turn.table == nullptr) return block;
  const counters::Reallocation call{.had_block = had_block,
                                    .has_block = block != nullptr,
                                    .size = size,
                                    .old_usable = old_usable,
                                    .usable = block != nullptr ? usable_bytes(block) : 0};
  turn.is_shared ? counters::tally_realloc<Together>(*turn.table, call)
                 : counters::tally_realloc<Alone>(*turn.table, call);
  return block;
}

}  // namespace

HEAPWRIGHT_HOOK void* malloc(std::size_t size) {
  return make<Function::malloc_>(size, [=]() noexcept { return real.malloc(size); });
}

HEAPWRIGHT_HOOK void* calloc(std::size_t count, std::size_t size) {
  return make<Function::calloc_>(product_or_max(count, size),
                                 [=]() noexcept { return real.calloc(count, size); });
}

HEAPWRIGHT_HOOK void* realloc(void* old_block, std::size_t size) {
  return count_reallocation(old_block, size);
}

// Not the libc's reallocarray, which calls realloc and would enter a second hook.
HEAPWRIGHT_HOOK void* reallocarray(void* old_block, std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  const bool is_possible = !__builtin_mul_overflow(count, size, &bytes);
  // As the libc's does, whose own allocator does not know the block.
  if (allocator.is_own_of_program && is_possible) return realloc(old_block, bytes);
  if (is_possible) return count_reallocation(old_block, bytes);
  count_event(&CallTable::failed);
  errno = ENOMEM;
  return nullptr;
}

HEAPWRIGHT_HOOK void free(void* block) {
  release<Function::free_>(block, [=]() noexcept { real.free(block); });
}

HEAPWRIGHT_HOOK void cfree(void* block) { free(block); }

HEAPWRIGHT_HOOK void free_sized(void* block, std::size_t size) {
  release<Function::free_>(block, [=]() noexcept {
    real.free_sized != nullptr ? real.free_sized(block, size) : real.free(block);
  });
}

HEAPWRIGHT_HOOK void free_aligned_sized(void* block, std::size_t alignment, std::size_t size) {
  release<Function::free_>(block, [=]() noexcept {
    real.free_aligned_sized != nullptr ? real.free_aligned_sized(block, alignment, size) : real.free(block);
  });
}

HEAPWRIGHT_HOOK int posix_memalign(void** result, std::size_t alignment, std::size_t size) {
  int error = 0;
  make<Function::aligned_>(size, [&]() noexcept -> void* {
    error = real.posix_memalign(result, alignment, size);
    return error == 0 ? *result : nullptr;
  });
  return error;
}

HEAPWRIGHT_HOOK void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return make<Function::aligned_>(size, [=]() noexcept { return real.aligned_alloc(alignment, size); });
}

HEAPWRIGHT_HOOK void* memalign(std::size_t alignment, std::size_t size) {
  return make<Function::aligned_>(size, [=]() noexcept { return real.memalign(alignment, size); });
}

HEAPWRIGHT_HOOK void* valloc(std::size_t size) {
  return make<Function::aligned_>(size, [=]() noexcept { return real.valloc(size); });
}

HEAPWRIGHT_HOOK void* pvalloc(std::size_t size) {
  return make<Function::aligned_>(size, [=]() noexcept { return real.pvalloc(size); });
}

}  // namespace heapwright::count
