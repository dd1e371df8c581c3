// SPDX-License-Identifier: MIT
#include "count/page.hpp"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>

#include "count/confinement.hpp"
#include "count/real_functions.hpp"
#include "count/thread.hpp"
#include "counters/collected.hpp"
#include "counters/page_file.hpp"
#include "counters/processor_time.hpp"
#include "counters/program_name.hpp"
#include "platform/raw_syscall.hpp"

extern char** environ;

namespace heapwright::count {

using counters::CallsPage;
using counters::CountedPage;
using counters::PageName;
using platform::raw_argument;
using platform::raw_syscall;

namespace {

constexpr char page_ending[] = ".calls";
constexpr char keeper_variable[] = "HEAPWRIGHT_COUNT_KEEPER=";
constexpr auto page_bytes = static_cast<long>(sizeof(CountedPage));

struct Keeper {
  std::uint32_t process = 0;
  std::uint64_t start_ticks = 0;
};

PageName file_name;
Keeper keeper;
bool is_fork_child = false;
std::uint32_t generation = 0;

std::uint64_t read_number(const char*& text) noexcept {
  std::uint64_t number = 0;
  for (; *text >= '0' && *text <= '9'; ++text) number = number * 10 + static_cast<std::uint64_t>(*text - '0');
  return number;
}

// "PID:TICKS". Anything else: no keeper.
Keeper keeper_of(char* const* environment) noexcept {
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    if (std::strncmp(*environment, keeper_variable, sizeof keeper_variable - 1) != 0) continue;
    const char* text = *environment + sizeof keeper_variable - 1;
    const std::uint64_t process = read_number(text);
    if (*text++ != ':' || process > INT32_MAX) return {};
    const std::uint64_t ticks = read_number(text);
    return *text == '\0' ? Keeper{static_cast<std::uint32_t>(process), ticks} : Keeper{};
  }
  return {};
}

bool is_kept() noexcept { return keeper.process != 0 && raw_syscall(SYS_kill, keeper.process, 0) != -ESRCH; }

// By count, or by a server.
bool is_awaited() noexcept { return is_kept() || counters::is_collected(); }

// A file with our name belongs to an earlier image of this process, or to an earlier process with its id: its
// keeper finds it under another name.
void move_stale_page(long process) noexcept {
  const PageName name = counters::page_name(process, page_ending);
  if (!is_awaited()) {
    counters::remove_page(name);
    return;
  }
  for (int number = 1; number <= counters::max_numbered; ++number) {
    const PageName other = counters::numbered_name(process, page_ending, number);
    constexpr long no_replace = 1;
    const long result = raw_syscall(SYS_renameat2, AT_FDCWD, raw_argument(name.text), AT_FDCWD,
                                    raw_argument(other.text), no_replace);
    if (result != -EEXIST) return;
  }
}

long open_file() noexcept {
  const long process = raw_syscall(SYS_getpid);
  file_name = counters::page_name(process, page_ending);
  const long file = counters::create_page(file_name);
  if (file != -EEXIST) return file;
  move_stale_page(process);
  return counters::create_page_of(process, page_ending, file_name);
}

// Beyond the file size limit the kernel would send SIGXFSZ, which ends the program.
bool may_be_that_large() noexcept {
  rlimit limit{};
  return raw_syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, raw_argument(&limit)) == 0 &&
         limit.rlim_cur >= static_cast<rlim_t>(page_bytes);
}

// The file's first pages are written by a system call, which reports a full file system.
bool fill(long file) noexcept {
  constexpr long needed = offsetof(CallsPage, tables) + sizeof(counters::CallTable);
  return raw_syscall(SYS_ftruncate, file, page_bytes) == 0 &&
         raw_syscall(SYS_fallocate, file, 0, 0, needed) == 0 &&
         raw_syscall(SYS_fallocate, file, 0, offsetof(CountedPage, contexts),
                     sizeof(counters::ContextsSection)) == 0;
}

CountedPage* map_page() noexcept {
  if (!may_be_that_large()) return nullptr;
  const long file = open_file();
  if (file < 0) return nullptr;
  long mapped = -1;
  if (fill(file)) mapped = raw_syscall(SYS_mmap, 0, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  raw_syscall(SYS_close, file);
  const bool is_mapped = mapped > 0;
  if (!is_mapped) counters::remove_page(file_name);
  return is_mapped ? reinterpret_cast<CountedPage*>(mapped) : nullptr;
}

template <std::size_t capacity>
void copy_name(char (&to)[capacity], const char* from) noexcept {
  const std::size_t length = strnlen(from, capacity - 1);
  std::memcpy(to, from, length);
  to[length] = '\0';
}

void name_program(char (&to)[sizeof(counters::CallsSection::program)]) noexcept {
  const auto* started_as = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  const char* name = started_as == nullptr ? "" : counters::name_in_path(started_as);
  if (name != nullptr) return copy_name(to, name);
  char file[4096];
  const long length = raw_syscall(SYS_readlinkat, AT_FDCWD, raw_argument("/proc/self/exe"),
                                  raw_argument(file), sizeof file - 1);
  file[length > 0 ? length : 0] = '\0';
  copy_name(to, std::strrchr(length > 0 ? file : started_as, '/') + 1);
}

void describe(CountedPage& made) noexcept {
  counters::CallsSection& section = made.calls.section;
  section.flags = allocator.is_own_of_program ? counters::has_own_malloc : 0U;
  if (!allocator.knows_usable) section.flags |= counters::has_unknown_usable;
  section.functions = counters::function_count;
  section.bins = counters::bin_count;
  section.time_bins = counters::time_bin_count;
  section.lock_bins = counters::lock_bin_count;
  section.table_bytes = sizeof(counters::CallTable);
  section.tables_offset = offsetof(CallsPage, tables);
  section.keeper = keeper.process;
  section.keeper_start_ticks = keeper.start_ticks;
  section.mean_stride = counters::mean_stride;
  section.slow_from_ns = counters::slow_from_ns;
  section.clock_ns = counters::clock_cost_ns(now_ns);
  section.started_ns = now_ns();
  section.tables_used.store(1, std::memory_order_relaxed);
  name_program(section.program);
  copy_name(section.allocator, allocator.file);
  counters::Head& head = made.calls.head;
  head.version = counters::head_version;
  head.page_bytes = sizeof(CountedPage);
  head.process = static_cast<std::uint32_t>(raw_syscall(SYS_getpid));
  head.generation = generation;
  head.process_start_ticks = counters::process_start_ticks();
  head.updated_ns.store(section.started_ns, std::memory_order_relaxed);
  head.sections[0] = {counters::SectionKind::calls, counters::calls_section_version,
                      offsetof(CallsPage, section), sizeof(CallsPage) - offsetof(CallsPage, section)};
  head.sections[1] = {counters::SectionKind::contexts, counters::contexts_section_version,
                      offsetof(CountedPage, contexts), sizeof(CountedPage) - offsetof(CountedPage, contexts)};
  made.contexts.row_count = counters::context_rows;
  made.contexts.row_bytes = sizeof(counters::ContextRow);
  made.contexts.rows_offset = offsetof(CountedPage, rows);
  // Last: with it, readers accept the file as a page.
  __atomic_store_n(&head.magic, counters::page_magic, __ATOMIC_RELEASE);
}

Mode link() noexcept {
  if (!are_real_functions_found) find_real_functions();
  if (getauxval(AT_SECURE) != 0) return Mode::dormant;
  if (is_fork_child) {
    ++generation;
    if (page != nullptr) raw_syscall(SYS_munmap, raw_argument(page), page_bytes);  // the parent's
  }
  if (!is_fork_child) keeper = keeper_of(environ);  // the child may have cleared its environment
  page = map_page();
  if (page == nullptr) return Mode::dormant;
  describe(*page);
  begin_threads(is_fork_child);
  return Mode::active;
}

}  // namespace

bool link_process() noexcept {
  return platform::link_once(wiped_on_fork, [] {
    const Mode result = link();
    is_fork_child = true;  // a later fork child reads this in its copy
    return result;
  });
}

void end_process() noexcept {
  if (wiped_on_fork.mode.load(std::memory_order_acquire) != Mode::active) return;
  // A vfork child's.
  if (!is_confined() && page->calls.head.process != static_cast<std::uint32_t>(raw_syscall(SYS_getpid))) {
    return;
  }
  if (current_thread->table != nullptr) add_to_context(current_thread->context, *current_thread->table);
  page->calls.section.ended_ns.store(now_ns(), std::memory_order_relaxed);
  if (!is_confined() && !is_awaited()) counters::remove_page(file_name);
}

}  // namespace heapwright::count
