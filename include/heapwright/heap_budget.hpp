// SPDX-License-Identifier: MIT
// Assertions on what code allocates, for tests.
// Documentation: docs/parts/heap_budget.md
//
// One source file of the test program defines HEAPWRIGHT_HEAP_BUDGET_IMPLEMENTATION
// before it includes this header; that file gets the hook. Include the header of
// GoogleTest, Catch2 or doctest first: a broken budget is then a non-fatal failure
// of that framework.
#ifndef HEAPWRIGHT_HEAP_BUDGET_HPP
#define HEAPWRIGHT_HEAP_BUDGET_HPP

#include <execinfo.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>

#include "heapwright/detail/check.hpp"
#include "heapwright/detail/heap_events.hpp"
#include "heapwright/detail/told_scope.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI {

enum class budget_scope { this_thread, whole_process };

// Reports a broken budget.
using budget_reporter = void (*)(const char* file, int line, const std::string& message);

// Budgets opened outside this scope do not count what this thread allocates within
// it: for assertions, logging, lazy initialization. Budgets opened inside do.
class heap_allowance {
 public:
  heap_allowance() noexcept : is_told_(hook::has_heap_scopes(hook::heap_of_thread)) {
    if (is_told_) heapwright_phase_begins(detail::scope_allowance);
    scopes_ = std::exchange(hook::heap_of_thread.scopes, nullptr);
    paused_ = std::exchange(hook::heap_of_thread.process_scopes_paused,
                            hook::process_scopes_opened.load(std::memory_order_relaxed));
  }
  heap_allowance(const heap_allowance&) = delete;
  heap_allowance& operator=(const heap_allowance&) = delete;
  ~heap_allowance() {
    hook::heap_of_thread.scopes = scopes_;
    hook::heap_of_thread.process_scopes_paused = paused_;
    if (is_told_) heapwright_phase_ends(detail::scope_allowance);
  }

 private:
  bool is_told_;
  hook::heap_scope* scopes_ = nullptr;
  std::uint64_t paused_ = 0;
};

// Whether the hook sees heap calls.
inline bool is_heap_hook_alive() noexcept {
  const heap_allowance uncounted;
  const hook::heap_thread& own = hook::heap_of_thread;
  const std::uint64_t allocations = own.allocations;
  const std::uint64_t releases = own.releases;
  const std::uint64_t fail_every = std::exchange(hook::heap_of_thread.fail_every, 0);
  void* volatile by_malloc = std::malloc(1);
  std::free(by_malloc);
  void* volatile by_new = ::operator new(1);
  ::operator delete(by_new);
  hook::heap_of_thread.fail_every = fail_every;
  return own.allocations == allocations + 2 && own.releases == releases + 2;
}

// Counts heap calls until its destruction, then reports which limits were exceeded;
// without a reporter it ends the program. Budgets nest and must end in reverse order.
class heap_budget {
 public:
  explicit heap_budget(const heap_limits& limits, budget_scope scope = budget_scope::this_thread,
                       budget_reporter report = nullptr, const char* file = __builtin_FILE(),
                       int line = __builtin_LINE()) noexcept
      : report_(report), file_(file), line_(line), scope_(scope) {
    counts_.limits = limits;
    is_alive_ = is_heap_hook_alive();
    void* frame = nullptr;
    {
      const heap_allowance uncounted;
      backtrace(&frame, 1);  // its first call loads a library, which allocates
      if (scope == budget_scope::whole_process) hook::free_lock_in_children();
    }
    open();
  }
  heap_budget(const heap_budget&) = delete;
  heap_budget& operator=(const heap_budget&) = delete;
  ~heap_budget() {
    if (is_open_) close();
    if (!is_reported_ && !is_kept()) report_now();
  }

  // Up to now, or up to close().
  heap_usage usage() const noexcept {
    if (!is_open_ || scope_ == budget_scope::this_thread) return counts_.usage;
    const hook::process_lock lock;  // other threads count meanwhile
    return counts_.usage;
  }

  // Stops counting before the scope ends.
  void close() noexcept {
    if (!std::exchange(is_open_, false)) return;
    stop_counting();
    detail::tell_scope_ends(told_as(), counts_.limits.name);
  }

  bool is_kept() const noexcept {
    const heap_usage now = usage();
    return is_alive_ && !hook::exceeds(now, counts_.limits) && now.live_bytes <= counts_.limits.live_bytes &&
           now.allocations >= counts_.limits.at_least_allocations;
  }

  // The exceeded limits and the backtraces of the first offenders; empty if none.
  // Closes the budget, and the destructor no longer reports.
  std::string message() {
    if (is_open_) close();
    is_reported_ = true;
    return is_kept() ? std::string() : describe();
  }

 private:
  const char* told_as() const noexcept {
    return scope_ == budget_scope::this_thread ? detail::scope_of_thread : detail::scope_of_process;
  }

  void open() noexcept {
    is_open_ = true;
    detail::tell_scope_begins(told_as(), counts_.limits.name);
    if (scope_ == budget_scope::this_thread) {
      counts_.outer = std::exchange(hook::heap_of_thread.scopes, &counts_);
      return;
    }
    const hook::process_lock lock;
    counts_.number = hook::process_scopes_opened.fetch_add(1, std::memory_order_relaxed) + 1;
    counts_.outer = hook::process_scopes.load();
    hook::process_scopes.store(&counts_);
  }

  void stop_counting() noexcept {
    if (scope_ == budget_scope::this_thread) {
      HEAPWRIGHT_CHECK(hook::heap_of_thread.scopes == &counts_, "heap_budget",
                       "budgets must end in reverse order, on their thread");
      hook::heap_of_thread.scopes = counts_.outer;
      return;
    }
    const hook::process_lock lock;
    hook::heap_scope* first = hook::process_scopes.load();
    if (first == &counts_) return hook::process_scopes.store(counts_.outer);
    while (first->outer != &counts_) first = first->outer;
    first->outer = counts_.outer;
  }

  std::string describe() const {
    if (!is_alive_) {
      return "heapwright::heap_budget: the heap hook is not alive: define "
             "HEAPWRIGHT_HEAP_BUDGET_IMPLEMENTATION "
             "in one source file of the program";
    }
    const heap_usage& u = counts_.usage;
    const heap_limits& l = counts_.limits;
    std::string text = "heapwright::heap_budget:";
    const auto add = [&](bool is_broken, auto is, const char* what, const char* bound, auto limit) {
      if (!is_broken) return;
      text += (text.back() == ':' ? " " : "; ") + std::to_string(is) + what + bound + std::to_string(limit);
    };
    add(u.allocations > l.allocations, u.allocations, " allocations", ", at most ", l.allocations);
    add(u.bytes > l.bytes, u.bytes, " bytes requested", ", at most ", l.bytes);
    add(l.peak_bytes <= INT64_MAX && u.peak_bytes > static_cast<std::int64_t>(l.peak_bytes), u.peak_bytes,
        " bytes at the peak", ", at most ", l.peak_bytes);
    add(u.live_bytes > l.live_bytes, u.live_bytes, " bytes still live", ", at most ", l.live_bytes);
    add(u.allocations < l.at_least_allocations, u.allocations, " allocations", ", at least ",
        l.at_least_allocations);
    for (std::size_t i = 0; i < counts_.offender_count; ++i) text += describe(counts_.offenders[i]);
    return text;
  }
  static std::string describe(const hook::heap_offender& offender) {
    std::string text = "\n  " + std::to_string(offender.bytes) + " bytes allocated by";
    char** names = backtrace_symbols(offender.frames, offender.frame_count);
    for (int i = 0; names != nullptr && i < offender.frame_count; ++i) {
      text += "\n    ";
      text += names[i];
    }
    std::free(names);
    return text;
  }

  void report_now() const {
    const heap_allowance uncounted;
    const std::string text = describe();
    if (report_ != nullptr) return report_(file_, line_, text);
    std::fprintf(stderr, "%s:%d: %s\n", file_, line_, text.c_str());
    std::abort();
  }

  hook::heap_scope counts_;
  budget_reporter report_;
  const char* file_;
  int line_;
  budget_scope scope_;
  bool is_open_ = false;
  bool is_alive_ = false;
  bool is_reported_ = false;
};

// Within the scope every k-th allocation of this thread fails: malloc returns
// null, new throws std::bad_alloc. Under sanitizers only new fails.
class heap_failures {
 public:
  explicit heap_failures(std::uint64_t every) noexcept {
    HEAPWRIGHT_CHECK(every != 0, "heap_budget", "failure injection needs k of at least 1");
    outer_every_ = std::exchange(hook::heap_of_thread.fail_every, every);
    outer_count_ = std::exchange(hook::heap_of_thread.fail_count, 0);
  }
  heap_failures(const heap_failures&) = delete;
  heap_failures& operator=(const heap_failures&) = delete;
  ~heap_failures() {
    hook::heap_of_thread.fail_every = outer_every_;
    hook::heap_of_thread.fail_count = outer_count_;
  }

 private:
  std::uint64_t outer_every_ = 0;
  std::uint64_t outer_count_ = 0;
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI

// Reports a broken budget to the test framework that was included.
#if defined(ADD_FAILURE_AT)
#define HEAPWRIGHT_BUDGET_REPORTER \
  [](const char* file, int line, const std::string& message) { ADD_FAILURE_AT(file, line) << message; }
#elif defined(DOCTEST_VERSION)
#define HEAPWRIGHT_BUDGET_REPORTER                             \
  [](const char* file, int line, const std::string& message) { \
    DOCTEST_ADD_FAIL_CHECK_AT(file, line, message);            \
  }
#elif defined(CATCH_VERSION_MAJOR) || defined(CATCH_CONFIG_MAIN) || defined(FAIL_CHECK)
#define HEAPWRIGHT_BUDGET_REPORTER                             \
  [](const char* file, int line, const std::string& message) { \
    FAIL_CHECK(file << ":" << line << ": " << message);        \
  }
#else
#define HEAPWRIGHT_BUDGET_REPORTER nullptr
#endif

#define HEAPWRIGHT_JOIN_NAMES_(a, b) a##b
#define HEAPWRIGHT_JOIN_NAMES(a, b) HEAPWRIGHT_JOIN_NAMES_(a, b)

// HEAPWRIGHT_HEAP_BUDGET(.allocations = 3, .bytes = 4096, .live_bytes = 0);
#define HEAPWRIGHT_HEAP_BUDGET(...)                                                    \
  const ::heapwright::heap_budget HEAPWRIGHT_JOIN_NAMES(heapwright_budget_, __LINE__)( \
      ::heapwright::heap_limits{__VA_ARGS__}, ::heapwright::budget_scope::this_thread, \
      HEAPWRIGHT_BUDGET_REPORTER, __FILE__, __LINE__)
#define HEAPWRIGHT_PROCESS_HEAP_BUDGET(...)                                              \
  const ::heapwright::heap_budget HEAPWRIGHT_JOIN_NAMES(heapwright_budget_, __LINE__)(   \
      ::heapwright::heap_limits{__VA_ARGS__}, ::heapwright::budget_scope::whole_process, \
      HEAPWRIGHT_BUDGET_REPORTER, __FILE__, __LINE__)

#if defined(HEAPWRIGHT_HEAP_BUDGET_IMPLEMENTATION)
#include "heapwright/detail/heap_budget_hook.hpp"
#endif
#endif
