// SPDX-License-Identifier: MIT
// Bindings for pages of counters.
#pragma once

#include <nanobind/nanobind.h>

namespace heapwright::python_module {

void bind_counters(nanobind::module_& module);

}  // namespace heapwright::python_module
