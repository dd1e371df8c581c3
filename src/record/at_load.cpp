// SPDX-License-Identifier: MIT
// Runs when the recorder is loaded, before main, and when the process exits.
#include <cerrno>

#include "record/enter.hpp"
#include "record/environment.hpp"
#include "record/link.hpp"
#include "record/own_name_bindings.hpp"
#include "record/scan_requests.hpp"
#include "record/session_link.hpp"
#include "record/start_entry_points.hpp"

extern char** environ;

namespace heapwright::record {
namespace {

// The allocator may initialize itself meanwhile, by calls of its own.
void report_allocator() noexcept {
  ThreadRecorder* thread = enter(__builtin_frame_address(0));
  name_allocator();
  if (thread != nullptr) thread->activity = Activity::program;
}

void prepare_starts() noexcept {
  const int saved_errno = errno;
  ThreadRecorder* thread = enter(__builtin_frame_address(0));
  ThreadRecorder* const before = begin_calls_of_libc();
  find_own_library();
  find_real_starts();
  end_calls_of_libc(before);
  if (thread != nullptr) thread->activity = Activity::program;
  errno = saved_errno;
}

// Runs before main; earlier heap calls have already linked the process.
__attribute__((constructor)) void at_load() {
  const bool is_active = link_process();
  if (is_active) {
    report_allocator();
    bind_own_names();
    prepare_starts();
  }
  const bool follows = is_active && (process.control->flags & session::follow_children) != 0;
  if (!follows && environ != nullptr) remove_session_from(environ);
}

// Runs after the program's own destructors and exit handlers.
__attribute__((destructor)) void at_unload() { wait_for_exit_scan(); }

}  // namespace

}  // namespace heapwright::record
