// SPDX-License-Identifier: MIT
// Bindings for the analysis.
#pragma once

#include <nanobind/nanobind.h>

namespace heapwright::python_module {

void bind_facts(nanobind::module_& module);

}  // namespace heapwright::python_module
