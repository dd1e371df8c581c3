// SPDX-License-Identifier: MIT
// The border to Python, as far as it is about the analysis.
#pragma once

#include <nanobind/nanobind.h>

namespace heapwright::python_module {

void bind_facts(nanobind::module_& module);

}  // namespace heapwright::python_module
