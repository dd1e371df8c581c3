// SPDX-License-Identifier: MIT
// Copies of traces with names inside, as Python asks for them.
#pragma once

#include <nanobind/nanobind.h>

namespace heapwright::python_module {

void bind_copies(nanobind::module_& module);

}  // namespace heapwright::python_module
