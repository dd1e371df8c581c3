// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "trace/event_kind.hpp"

namespace heapwright::trace {

// The entry point's spelling ("operator new[](nothrow)"); "?" when unknown.
std::string_view name_of(EventKind kind) noexcept;

}  // namespace heapwright::trace
