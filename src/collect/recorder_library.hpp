// SPDX-License-Identifier: MIT
// The libraries that are preloaded into recorded programs.
#pragma once

#include <string>

#include "collect/options.hpp"

namespace heapwright::collect {

// Absolute, since the program may change its folder before it starts others. `what` and `option` name the
// library in a refusal. UsageError: it cannot be read, or preloaded.
std::string absolute_library(const std::string& what, const std::string& given, const std::string& option);

// The recorder.
std::string find_library(const Options& options);

// heapwright-attach.
std::string attacher_of(const Options& options);

}  // namespace heapwright::collect
