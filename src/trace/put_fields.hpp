// SPDX-License-Identifier: MIT
// Appends fields and records with a length; record_fields.hpp reads them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/varint.hpp"
#include "trace/format.hpp"

namespace heapwright::trace {

using Bytes = std::vector<std::uint8_t>;

inline void put(Bytes& out, std::uint64_t value) {
  std::uint8_t bytes[base::max_varint_bytes];
  out.insert(out.end(), bytes, base::put_varint(bytes, value));
}

// Truncated to what a reader accepts.
inline void put_text(Bytes& out, std::string_view text) {
  text = text.substr(0, max_text_bytes);
  put(out, text.size());
  out.insert(out.end(), text.begin(), text.end());
}

inline void put_record(Bytes& out, const Bytes& record) {
  put(out, record.size());
  out.insert(out.end(), record.begin(), record.end());
}

}  // namespace heapwright::trace
