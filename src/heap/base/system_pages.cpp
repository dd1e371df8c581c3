// SPDX-License-Identifier: MIT
#include "heap/base/system_pages.hpp"

#include <elf.h>
#include <errno.h>
#include <linux/mman.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <atomic>
#include <cstring>

#include "heap/base/counting.hpp"
#include "heap/base/lock.hpp"
#include "platform/raw_syscall.hpp"

namespace heapwright::heap {

std::atomic<std::uint32_t> refuse_every{0};

namespace {

std::atomic<std::uint32_t> requests{0};

bool is_refused() noexcept {
  const std::uint32_t every = refuse_every.load(std::memory_order_relaxed);
  return every != 0 && requests.fetch_add(1, std::memory_order_relaxed) % every == every - 1;
}

class TimedCall {
 public:
  explicit TimedCall(counters::SystemCallCounters& counted) noexcept
      : counted_(counted), begin_ns_(monotonic_ns()) {}
  ~TimedCall() {
    counters::add(counted_.calls, 1);
    counters::add(counted_.ns, monotonic_ns() - begin_ns_);
  }
  TimedCall(const TimedCall&) = delete;
  TimedCall& operator=(const TimedCall&) = delete;

 private:
  counters::SystemCallCounters& counted_;
  std::uint64_t begin_ns_;
};

long call_mmap(void* begin, std::size_t bytes, int protection, int flags) noexcept {
  if (is_refused()) return -1;
  return platform::raw_syscall(SYS_mmap, platform::raw_argument(begin), static_cast<long>(bytes), protection,
                               MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

// The kernel's results from -4095 to -1 are errors.
bool is_error(long result) noexcept { return static_cast<unsigned long>(result) > -4096UL; }

}  // namespace

std::size_t system_page_bytes() noexcept {
  // Concurrent first calls find the same value.
  static constinit std::atomic<std::size_t> known{0};
  std::size_t bytes = known.load(std::memory_order_relaxed);
  if (bytes == 0) {
    bytes = getauxval(AT_PAGESZ);
    known.store(bytes, std::memory_order_relaxed);
  }
  return bytes;
}

std::size_t address_space_limit_bytes() noexcept {
  rlimit limit{};
  const long result = platform::raw_syscall(SYS_prlimit64, 0, RLIMIT_AS, 0, platform::raw_argument(&limit));
  return result != 0 || limit.rlim_cur == RLIM_INFINITY ? 0 : limit.rlim_cur;
}

Mapping map_at(void* begin, std::size_t bytes) noexcept {
  const TimedCall timed(counters_page->heap.mapping);
  const long result = call_mmap(begin, bytes, PROT_READ | PROT_WRITE, MAP_FIXED_NOREPLACE);
  if (is_error(result)) return result == -EEXIST ? Mapping::occupied : Mapping::refused;
  if (reinterpret_cast<void*>(result) == begin) return Mapping::done;
  unmap(reinterpret_cast<void*>(result), bytes);  // an old kernel that takes the address as a hint
  return Mapping::occupied;
}

// A limit may refuse the mapping although the range is free; the error distinguishes that.
bool is_unmapped(void* begin, std::size_t bytes) noexcept {
  const long result = call_mmap(begin, bytes, PROT_NONE, MAP_FIXED_NOREPLACE | MAP_NORESERVE);
  if (is_error(result)) return result == -ENOMEM;
  unmap(reinterpret_cast<void*>(result), bytes);
  return reinterpret_cast<void*>(result) == begin;
}

void* find_unmapped(std::size_t bytes) noexcept {
  const long result = call_mmap(nullptr, bytes, PROT_NONE, MAP_NORESERVE);
  if (is_error(result)) return nullptr;
  unmap(reinterpret_cast<void*>(result), bytes);
  return reinterpret_cast<void*>(result);
}

void unmap(void* begin, std::size_t bytes) noexcept {
  platform::raw_syscall(SYS_munmap, platform::raw_argument(begin), static_cast<long>(bytes));
}

void* map_out_of_reach(std::size_t bytes) noexcept {
  const long result = call_mmap(nullptr, bytes, PROT_NONE, 0);
  return is_error(result) ? nullptr : reinterpret_cast<void*>(result);
}

bool make_writable(void* begin, std::size_t bytes) noexcept {
  return platform::raw_syscall(SYS_mprotect, platform::raw_argument(begin), static_cast<long>(bytes),
                               PROT_READ | PROT_WRITE) == 0;
}

void drop_pages(void* begin, std::size_t bytes) noexcept {
  const TimedCall timed(counters_page->heap.purging);
  const long result = platform::raw_syscall(SYS_madvise, platform::raw_argument(begin),
                                            static_cast<long>(bytes), MADV_DONTNEED);
  // Locked memory (mlockall) stays. Nobody may be given what was in it for zeros.
  if (is_error(result)) std::memset(begin, 0, bytes);
}

void ask_for_huge_pages(void* begin, std::size_t bytes) noexcept {
  platform::raw_syscall(SYS_madvise, platform::raw_argument(begin), static_cast<long>(bytes), MADV_HUGEPAGE);
}

void refuse_huge_pages(void* begin, std::size_t bytes) noexcept {
  platform::raw_syscall(SYS_madvise, platform::raw_argument(begin), static_cast<long>(bytes),
                        MADV_NOHUGEPAGE);
}

bool move_pages(void* from, void* to, std::size_t bytes) noexcept {
  if (is_refused()) return false;
  const TimedCall timed(counters_page->heap.mapping);
  constexpr int dont_unmap = 4;  // MREMAP_DONTUNMAP, Linux 5.7
  return !is_error(platform::raw_syscall(SYS_mremap, platform::raw_argument(from), static_cast<long>(bytes),
                                         static_cast<long>(bytes), MREMAP_MAYMOVE | MREMAP_FIXED | dont_unmap,
                                         platform::raw_argument(to)));
}

bool map_anew(void* begin, std::size_t bytes) noexcept {
  const TimedCall timed(counters_page->heap.mapping);
  return !is_error(platform::raw_syscall(SYS_mmap, platform::raw_argument(begin), static_cast<long>(bytes),
                                         PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                                         0));
}

void withdraw(void* begin, std::size_t bytes) noexcept {
  const TimedCall timed(counters_page->heap.purging);
  const long result =
      platform::raw_syscall(SYS_mmap, platform::raw_argument(begin), static_cast<long>(bytes), PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  if (is_error(result)) forbid(begin, bytes);
}

void forbid(void* begin, std::size_t bytes) noexcept {
  platform::raw_syscall(SYS_mprotect, platform::raw_argument(begin), static_cast<long>(bytes), PROT_NONE);
}

}  // namespace heapwright::heap
