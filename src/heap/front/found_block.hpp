// SPDX-License-Identifier: MIT
// Hardened mode: the block that a pointer leads to, as its sealed record or its line says.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/pages/region.hpp"
#include "heap/slabs/sealed_record.hpp"

struct heapwright_heap;

namespace heapwright::heap {

// Between the size that was asked for and the record.
inline constexpr unsigned char slack_fill = 0xF5;

// What a pointer turned out to be.
struct Found {
  UnitLine* line;
  char* begin;
  std::size_t room;     // bytes up to the record, or up to the end of a block of its own pages
  std::uint64_t value;  // of the record or the line: what was asked for, perhaps freed_bit
  bool is_of_slab() const noexcept { return line->kind == UnitKind::slab; }
  SealedRecord record() const noexcept { return {begin, room + record_bytes}; }
  std::size_t bytes() const noexcept { return bytes_in(value); }
  bool is_freed() const noexcept { return (value & freed_bit) != 0; }
  bool is_intact() const noexcept { return record().is_intact(value); }
};

// Of a block that has pages of its own: what was asked for is in its line.
Found find_large(UnitLine* line) noexcept;

// The live block that begins at `pointer`. Stops the process where there is none, or something is
// wrong with it; `function` is named as what found it.
Found find_live(const char* function, const void* pointer) noexcept;

// The private heap that a block is of, or null.
heapwright_heap* private_heap_of(const UnitLine* line) noexcept;

}  // namespace heapwright::heap
