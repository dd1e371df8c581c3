// SPDX-License-Identifier: MIT
#include "count/contexts.hpp"

#include <time.h>

#include <cstddef>
#include <cstring>

#include "counters/tally.hpp"
#include "platform/pause.hpp"
#include "platform/raw_syscall.hpp"

namespace heapwright::count {

using counters::CallTable;
using counters::context_name_bytes;
using counters::context_rows;
using counters::ContextRow;
using counters::ContextSums;
using platform::raw_argument;
using platform::raw_syscall;

thread_local constinit const char* current_context = nullptr;

namespace {

constexpr char others[] = "(other)";

ContextSums sums_of(const CallTable& table) noexcept {
  ContextSums sums{.requested_bytes = table.requested_bytes,
                   .usable_bytes = table.usable_bytes,
                   .timed_calls = table.making.calls + table.releasing.calls,
                   .timed_ns = table.making.ns + table.releasing.ns,
                   .released_bytes = table.released_bytes};
  constexpr auto first_release = static_cast<std::size_t>(counters::Function::free_);
  for (std::size_t function = 0; function < counters::function_count; ++function) {
    sums.calls += table.calls[function];
    if (function < first_release) sums.made += table.calls[function];
  }
  return sums;
}

std::uint64_t hash_of(const char* name, std::size_t length) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (std::size_t i = 0; i < length; ++i) {
    hash = (hash ^ static_cast<unsigned char>(name[i])) * 0x100000001b3ULL;
  }
  return hash ^ hash >> 32;
}

bool is_called(const ContextRow& row, const char* name, std::size_t length) noexcept {
  return std::memcmp(row.name, name, length) == 0 &&
         (length == context_name_bytes || row.name[length] == '\0');
}

class Rows {
 public:
  Rows(ContextRow* rows, bool may_call_system) noexcept : rows_(rows), may_call_system_(may_call_system) {}

  // That of this name, or the one for all others. Takes no lock: where another thread names a row for longer
  // than some looks, it is not known whose it will be.
  ContextRow* of(const char* name) const noexcept {
    const std::size_t length = strnlen(name, context_name_bytes);
    if (length == 0) return nullptr;
    std::size_t at = hash_of(name, length) % (context_rows - 1);
    for (std::size_t tries = 0; tries < context_rows - 1; ++tries) {
      ContextRow& row = rows_[1 + at];
      std::uint32_t state = state_of(row);
      if (state == counters::context_unused && claim(row, name, length)) return &row;
      if (state == counters::context_unused) state = state_of(row);
      if (state != counters::context_named) return for_others();
      if (is_called(row, name, length)) return &row;
      at = (at + 1) % (context_rows - 1);
    }
    return for_others();
  }

 private:
  // A name is written in some 20 ns. Whoever writes it may be preempted, or be this thread, interrupted by a
  // signal.
  static std::uint32_t state_of(const ContextRow& row) noexcept {
    constexpr int most_looks = 1000;
    std::uint32_t state = counters::context_claimed;
    for (int look = 0; look < most_looks && state == counters::context_claimed; ++look) {
      if (look != 0) platform::pause();
      state = __atomic_load_n(&row.state, __ATOMIC_ACQUIRE);
    }
    return state;
  }

  // Gives an unused row its name. False: another thread is doing so, or it is not known whether there is
  // memory for it. The kernel writes first: it reports a full file system, while a store would end the
  // process.
  bool claim(ContextRow& row, const char* name, std::size_t length) const noexcept {
    if (!may_call_system_ || raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, raw_argument(row.begun)) != 0) {
      return false;
    }
    std::uint32_t expected = counters::context_unused;
    if (!__atomic_compare_exchange_n(&row.state, &expected, counters::context_claimed, false,
                                     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
      return false;
    }
    std::memcpy(row.name, name, length);
    __atomic_store_n(&row.state, counters::context_named, __ATOMIC_RELEASE);
    return true;
  }

  ContextRow* for_others() const noexcept {
    ContextRow& row = rows_[0];
    if (__atomic_load_n(&row.state, __ATOMIC_ACQUIRE) == counters::context_unused) {
      claim(row, others, sizeof others - 1);
    }
    return __atomic_load_n(&row.state, __ATOMIC_ACQUIRE) == counters::context_unused ? nullptr : &row;
  }

  ContextRow* rows_;
  bool may_call_system_;
};

void add(std::uint64_t& sum, std::uint64_t amount) noexcept {
  if (amount != 0) counters::Together::add(sum, amount);
}

}  // namespace

void add_to_context(ThreadContext& context, const CallTable& table) noexcept {
  ContextRow* const row = context.row;
  if (row == nullptr) return;
  const ContextSums now = sums_of(table);
  const ContextSums since = context.since;
  // First: a signal handler may come in between and add as well.
  context.since = now;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  add(row->sums.calls, now.calls - since.calls);
  add(row->sums.made, now.made - since.made);
  add(row->sums.requested_bytes, now.requested_bytes - since.requested_bytes);
  add(row->sums.usable_bytes, now.usable_bytes - since.usable_bytes);
  add(row->sums.timed_calls, now.timed_calls - since.timed_calls);
  add(row->sums.timed_ns, now.timed_ns - since.timed_ns);
  add(row->sums.released_bytes, now.released_bytes - since.released_bytes);
}

void begin_context(ThreadContext& context, const CallTable& table, counters::CountedPage& page,
                   bool may_call_system) noexcept {
  add_to_context(context, table);
  context.row = nullptr;
  if (current_context == nullptr) return;
  context.since = sums_of(table);
  context.row = Rows(page.rows, may_call_system).of(current_context);
}

}  // namespace heapwright::count
