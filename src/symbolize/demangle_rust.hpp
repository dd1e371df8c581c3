// SPDX-License-Identifier: MIT
// Names of Rust's second mangling scheme ("v0", Rust RFC 2603).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace heapwright::symbolize {

// "_RNvCs1234_7mycrate3foo" -> "mycrate::foo", without the crates' hashes.
// nullopt: not such a name, or one that expands to more than `max_bytes`.
// Linear in the length of the result.
std::optional<std::string> demangle_rust(std::string_view symbol, std::size_t max_bytes);

}  // namespace heapwright::symbolize
