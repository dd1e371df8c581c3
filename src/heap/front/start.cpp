// SPDX-License-Identifier: MIT
// The library's start and its end.
#include "heap/front/start.hpp"

#include "heap/base/own_thread.hpp"
#include "heap/base/settings.hpp"
#include "heap/front/allocate.hpp"
#include "heap/front/forks.hpp"
#include "heap/service/maintenance.hpp"
#include "heap/service/process.hpp"
#include "heap/service/publish.hpp"

namespace heapwright::heap {

// Early, so that fork handlers of libraries that allocate run inside of these.
[[gnu::constructor(101)]] void start() noexcept {
  handle_forks();
  if (!initialize_process()) return;
  // The first allocation touches most pages of code and tables: do that here, not in a
  // call that the program may be timing. The slab is kept, and the first free in it is
  // not checked, so this uses a size that few programs begin with.
  constexpr std::size_t seldom_asked_bytes = 600;
  release(allocate(seldom_asked_bytes));
  if (settings.starts_thread_early || settings.publishes_counters) start_maintenance();
}

namespace {

[[gnu::destructor]] void end_process() { close_counters(); }

}  // namespace

}  // namespace heapwright::heap
