// SPDX-License-Identifier: MIT
// For tests in which pieces of maintenance are done where the test says so.
#pragma once

#include <gtest/gtest.h>

#include "heap/base/own_thread.hpp"
#include "heap/base/settings.hpp"
#include "heap/service/maintenance.hpp"
#include "heap/service/process.hpp"

namespace heapwright::heap {

inline void finish_maintenance() {
  while (maintain(100, 0) != 0) {
  }
}

inline void begin_without_maintenance() {
  ASSERT_TRUE(initialize_process());
  settings.has_maintenance_thread = false;
  forbid_maintenance_thread();
  settings.gives_back_on_calls = false;
}

inline void end_without_maintenance() {
  finish_maintenance();
  settings.gives_back_on_calls = true;
}

}  // namespace heapwright::heap
