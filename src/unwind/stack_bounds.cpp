// SPDX-License-Identifier: MIT
#include "unwind/stack_bounds.hpp"

#include <cerrno>

#include "platform/raw_syscall.hpp"

// glibc: the stack pointer the kernel started the process with.
extern "C" __attribute__((weak)) void* __libc_stack_end;

namespace heapwright::unwind {
namespace {

constexpr std::uint64_t page_mask = ~(StackBounds::page_bytes - 1);

// The kernel places no mapping closer to the initial stack's top than this
// (mmap_base() in arch/x86/mm/mmap.c), so an address within it is on that stack.
constexpr std::uint64_t initial_stack_bytes = 128ULL << 20;

// A stack pointer farther than this below the thread pointer is not on the
// stack that the thread was created with.
constexpr std::uint64_t max_thread_stack_bytes = 1ULL << 30;

// Pages confirmed in one capture; bounds its time when a frame is huge.
constexpr std::uint64_t max_extension_pages = 8192;

std::uint64_t thread_pointer() { return reinterpret_cast<std::uint64_t>(__builtin_thread_pointer()); }

}  // namespace

// The kernel copies the set in before it rejects `how`: EINVAL means that the address is readable, EFAULT
// that it is not. Seccomp filters allow this call far more often than process_vm_readv, and it costs a third.
bool is_page_readable(const std::atomic<std::uint32_t>* is_confined, std::uint64_t address) noexcept {
  if (is_confined != nullptr && is_confined->load(std::memory_order_relaxed) != 0) return false;
  constexpr long no_such_how = -1;
  constexpr long set_bytes = 8;
  const auto at = static_cast<long>(address & ~7ULL);
  return platform::raw_syscall(SYS_rt_sigprocmask, no_such_how, at, 0, set_bytes) == -EINVAL;
}

OwnStack find_own_stack(std::uint64_t stack_pointer, const std::atomic<std::uint32_t>* is_confined) noexcept {
  OwnStack own;
  own.is_confined = is_confined;
  const auto initial_top =
      &__libc_stack_end == nullptr ? 0 : reinterpret_cast<std::uint64_t>(__libc_stack_end);
  if (stack_pointer < initial_top && initial_top - stack_pointer < initial_stack_bytes) {
    own.is_initial_thread = true;
    own.top = initial_top & ~7ULL;
    own.low = own.top;
    return own;
  }
  // A thread made by the threads library has its control block at the top of its stack. The thread pointer
  // points to it, on aarch64 to its end.
  const std::uint64_t control_block = thread_pointer() & ~7ULL;
  if (stack_pointer >= control_block || control_block - stack_pointer >= max_thread_stack_bytes) return own;
  own.top = control_block;
  own.low = control_block & page_mask;
  if (!extend_own_stack(own, stack_pointer)) own = OwnStack{.is_confined = is_confined};
  return own;
}

bool extend_own_stack(OwnStack& own, std::uint64_t stack_pointer) noexcept {
  if (own.is_initial_thread) {
    if (own.top - stack_pointer >= initial_stack_bytes) return false;
    own.low = stack_pointer & page_mask;
    return true;
  }
  const std::uint64_t wanted = stack_pointer & page_mask;
  if (wanted <= own.hole || own.low - wanted > max_extension_pages * StackBounds::page_bytes) return false;
  while (own.low > wanted) {
    const std::uint64_t page = own.low - StackBounds::page_bytes;
    if (!is_page_readable(own.is_confined, page)) {
      own.hole = page;
      return false;
    }
    own.low = page;
  }
  return true;
}

}  // namespace heapwright::unwind
