// SPDX-License-Identifier: MIT
// Reads records with a length, and their fields, from untrusted bytes.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/varint.hpp"
#include "trace/damage.hpp"
#include "trace/format.hpp"

namespace heapwright::trace {

inline void require(bool is_so, const char* what) {
  if (!is_so) throw TraceError(what);
}

// The smallest record takes a byte, so a count above the available bytes is invalid; checked before space for
// `count` records is allocated.
inline void require_count(const base::ByteSource& source, std::uint32_t count) {
  require(count <= source.remaining(), "a table claims more records than it holds");
}

inline base::ByteSource next_record(base::ByteSource& source) {
  const std::string_view record = source.text();
  require(!source.has_failed(), "a record is cut short");
  return {reinterpret_cast<const std::uint8_t*>(record.data()), record.size()};
}

// Fields missing in a record, because an older heapwright wrote it, are 0 or empty.
inline std::uint64_t field(base::ByteSource& record) { return record.remaining() == 0 ? 0 : record.varint(); }

template <typename Number>
Number narrow_field(base::ByteSource& record) {
  const std::uint64_t value = field(record);
  require(value <= std::numeric_limits<Number>::max(), "a record holds an impossible number");
  return static_cast<Number>(value);
}

template <typename Number>
Number narrow_signed_field(base::ByteSource& record) {
  const std::int64_t value = record.remaining() == 0 ? 0 : record.signed_varint();
  require(std::in_range<Number>(value), "a record holds an impossible number");
  return static_cast<Number>(value);
}

inline std::string text_field(base::ByteSource& record) {
  if (record.remaining() == 0) return {};
  const std::string_view text = record.text();
  require(text.size() <= max_text_bytes, "a record holds an impossible text");
  return std::string(text);
}

inline void require_read(const base::ByteSource& record) {
  require(!record.has_failed(), "a record is cut short");
}

}  // namespace heapwright::trace
