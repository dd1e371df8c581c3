// SPDX-License-Identifier: MIT
// Bindings for copies of traces with names inside.
#pragma once

#include <nanobind/nanobind.h>

namespace heapwright::python_module {

void bind_copies(nanobind::module_& module);

}  // namespace heapwright::python_module
