// SPDX-License-Identifier: MIT
// Reads the remedy file before main, and makes what it asks for; at exit, the statistics.
#include "apply/active.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <iterator>

#include "apply/deeds_line.hpp"
#include "apply/deferred_frees.hpp"
#include "apply/exit_frees.hpp"
#include "apply/idle_trim.hpp"
#include "apply/loaded_modules.hpp"
#include "apply/next_functions.hpp"
#include "apply/remedy_file.hpp"
#include "apply/site_heaps.hpp"
#include "apply/watch_page.hpp"
#include "heap/base/messages.hpp"
#include "heap/front/forks.hpp"

extern char** environ;

namespace heapwright::apply {

namespace {

constinit Remedies remedies{};
constinit const Remedies* active = nullptr;
// Where the statistics go: "" nowhere, 1: stderr, or a file. A copy: programs overwrite their environment.
constinit char statistics_path[256]{};

// getenv() may be the program's own.
const char* environment_value(const char* name) noexcept {
  const std::size_t length = std::strlen(name);
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') return *entry + length + 1;
  }
  return nullptr;
}

constexpr char none_applied[] = "; no remedy is applied";

void say(const char* path, const char* what, std::size_t line_number,
         const char* then = none_applied) noexcept {
  heap::Line line;
  line.text(path);
  if (line_number != 0) line.text(":").number(line_number);
  line.text(": ").text(what).text(then).write();
}

bool has_sites() noexcept { return remedies.stack_count != 0; }

// The heap's handlers first: they run last before the fork, and ours do not allocate.
void handle_all_forks() noexcept {
  heap::handle_forks();
  pthread_atfork(lock_kept_blocks, unlock_kept_blocks, [] {
    reset_kept_blocks_in_child();
    stop_deferring_in_child();
    leave_watch_page_in_child();
    forget_arming_thread();
  });
}

bool is_before_all(const char* path) noexcept {
  for (const char* name : {"malloc", "free", "realloc", "malloc_usable_size"}) {
    if (is_first(name)) continue;
    say(path, "the program or another preloaded library has its own malloc before this one", 0);
    return false;
  }
  return true;
}

bool begin_sites(const char* path) noexcept {
  if (!make_site_heaps(remedies)) {
    say(path, "no address space for its heaps", 0);
    return false;
  }
  prepare_watch_page(remedies);
  handle_all_forks();
  arm_loaded(remedies);
  return true;
}

void begin_trims(const char* path) noexcept {
  for (std::uint32_t i = 0; i < remedies.remedy_count; ++i) {
    if (remedies.remedies[i].kind != RemedyKind::trim) continue;
    if (start_idle_trim(remedies.remedies[i].every_ms, has_sites())) return;  // one thread suffices
    return say(path, "this allocator has no malloc_trim, or there can be no thread", 0, "; trim is off");
  }
}

void begin_skipping(const char* path) noexcept {
  const auto is_it = [](const Remedy& remedy) { return remedy.kind == RemedyKind::skip_frees; };
  if (std::none_of(std::begin(remedies.remedies), std::end(remedies.remedies), is_it)) return;
  if (!skip_frees_at_exit()) {
    return say(path, "this allocator does not tell a block's size", 0, "; skip-frees-at-exit is off");
  }
  pthread_atfork(nullptr, nullptr, forget_exit_in_child);
}

void begin() noexcept {
  find_next_functions();
  find_exit();
  // A program with more rights than its caller ignores the caller's settings.
  const char* path = getauxval(AT_SECURE) != 0 ? nullptr : environment_value("HEAPWRIGHT_APPLY");
  if (path == nullptr || *path == '\0') return;
  const FileError error = read_remedies(path, remedies);
  if (error.what != nullptr) return say(path, error.what, error.line);
  if (!is_before_all(path) || (has_sites() && !begin_sites(path))) return;
  active = &remedies;
  begin_trims(path);
  begin_skipping(path);
  const char* wanted = environment_value("HEAPWRIGHT_APPLY_STATS");
  const std::size_t bytes = wanted == nullptr ? 0 : std::strlen(wanted) + 1;
  if (bytes <= sizeof statistics_path) std::memcpy(statistics_path, wanted == nullptr ? "" : wanted, bytes);
}

[[gnu::constructor]] void at_load() {
  const int before = errno;
  begin();
  errno = before;
}

void print_all_statistics(int file) noexcept {
  print_statistics(remedies, file);
  for (const Remedy& remedy : remedies.remedies) {
    DeedsLine line;
    if (remedy.kind == RemedyKind::trim) {
      line.text("heapwright: trim:").number(remedy.every_ms).text(": ");
      line.number(idle_trims()).text(" times trimmed\n").write(file);
    } else if (remedy.kind == RemedyKind::skip_frees) {
      line.text("heapwright: skip-frees-at-exit: ").number(skipped_frees());
      line.text(" frees skipped\n").write(file);
    }
  }
}

// After the program's own destructors and exit handlers. The file of a path has to be there.
[[gnu::destructor]] void at_unload() {
  close_watch_page();
  if (active == nullptr) return;
  if (std::strcmp(statistics_path, "1") == 0) return print_all_statistics(STDERR_FILENO);
  if (*statistics_path != '/') return;
  const int file = open(statistics_path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return;
  print_all_statistics(file);
  close(file);
}

}  // namespace

const Remedies* active_remedies() noexcept { return active; }

}  // namespace heapwright::apply
