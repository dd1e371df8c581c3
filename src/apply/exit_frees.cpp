// SPDX-License-Identifier: MIT
#include "apply/exit_frees.hpp"

#include <dlfcn.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdint>

#include "apply/next_functions.hpp"
#include "apply/resident.hpp"
#include "apply/site_heaps.hpp"
#include "platform/raw_syscall.hpp"

namespace heapwright::apply {

namespace {

using platform::raw_argument;
using platform::raw_syscall;
using Main = int(int, char**, char**);

constexpr std::uint64_t most_growth_bytes = std::uint64_t{64} << 20;
constexpr std::size_t bytes_between_looks = std::size_t{1} << 20;

constinit bool is_wanted = false;
constinit std::atomic<bool> is_skipping{false};
using Free = void(void*);
constinit Free* free_before = nullptr;
constinit Main* program_main = nullptr;
using Exit = void(int);
constinit Exit* next_exit = nullptr;
// Of the thread that ends the process.
constinit void* exiting_thread = nullptr;
constinit std::uint64_t bytes_at_exit = 0;
constinit std::uint64_t skipped = 0;
constinit std::size_t bytes_since_look = 0;

bool is_limited(int resource) noexcept {
  rlimit limit{};
  return raw_syscall(SYS_prlimit64, 0, resource, 0, raw_argument(&limit)) != 0 ||
         limit.rlim_cur != RLIM_INFINITY;
}

// Other threads read it meanwhile.
void replace_free(Free* by) noexcept { __atomic_store_n(&next.free, by, __ATOMIC_RELEASE); }

void stop_skipping() noexcept {
  if (!is_skipping.exchange(false, std::memory_order_relaxed)) return;
  replace_free(free_before);
  skip_own_frees(nullptr);
}

bool skips_free_of(std::size_t usable_bytes) noexcept {
  if (__builtin_thread_pointer() != exiting_thread) return false;
  bytes_since_look += usable_bytes;
  if (bytes_since_look >= bytes_between_looks) {
    bytes_since_look = 0;
    if (resident_bytes() > bytes_at_exit + most_growth_bytes) stop_skipping();
  }
  ++skipped;
  return true;
}

void skip_free(void* block) {
  if (block != nullptr && !skips_free_of(next.malloc_usable_size(block))) free_before(block);
}

void begin_exit() noexcept {
  if (!is_wanted || exiting_thread != nullptr || is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA)) return;
  bytes_at_exit = resident_bytes();
  if (bytes_at_exit == 0) return;
  exiting_thread = __builtin_thread_pointer();
  is_skipping.store(true, std::memory_order_relaxed);
  skip_own_frees(skips_free_of);
  replace_free(&skip_free);
}

int main_to_its_end(int count, char** words, char** environment) {
  const int code = program_main(count, words, environment);
  begin_exit();
  return code;
}

}  // namespace

void find_exit() noexcept { next_exit = reinterpret_cast<Exit*>(dlsym(RTLD_NEXT, "exit")); }

bool skip_frees_at_exit() noexcept {
  free_before = next.free;
  is_wanted = next.tell_sizes;
  return is_wanted;
}

std::uint64_t skipped_frees() noexcept { return skipped; }

void forget_exit_in_child() noexcept {
  stop_skipping();
  exiting_thread = nullptr;
}

extern "C" [[gnu::visibility("default")]] int __libc_start_main(Main* main, int count, char** words,
                                                                void (*init)(), void (*fini)(),
                                                                void (*loader_fini)(), void* stack_end) {
  using Start = int(Main*, int, char**, void (*)(), void (*)(), void (*)(), void*);
  auto* const start = reinterpret_cast<Start*>(dlsym(RTLD_NEXT, "__libc_start_main"));
  program_main = main;
  return start(is_wanted ? &main_to_its_end : main, count, words, init, fini, loader_fini, stack_end);
}

extern "C" [[gnu::noreturn, gnu::visibility("default")]] void exit(int code) noexcept {
  begin_exit();
  if (next_exit == nullptr) find_exit();
  next_exit(code);
  __builtin_unreachable();
}

}  // namespace heapwright::apply
