// SPDX-License-Identifier: MIT
// What the program headers of a loaded object say: its place, its unwind tables, its build id.
#pragma once

#include <elf.h>

#include <cstdint>

#include "session/layout.hpp"
#include "unwind/call_frame_rules.hpp"

namespace heapwright::unwind {

struct ProgramHeaders {
  const Elf64_Phdr* first = nullptr;
  std::uint32_t count = 0;
  const Elf64_Phdr* begin() const { return first; }
  const Elf64_Phdr* end() const { return first + count; }
};

struct BuildId {
  std::uint8_t bytes[sizeof session::ModuleEntry::build_id];
  std::uint32_t size_bytes = 0;
};

// Auxiliary values that no kernel passes, only our agent in a static program that has no PT_GNU_EH_FRAME:
// such a table, outside the program; 0: none.
inline constexpr unsigned long auxiliary_frame_table = 0x68770001;
inline constexpr unsigned long auxiliary_frame_table_bytes = 0x68770002;

// As the kernel passed them on.
ProgramHeaders headers_of_program() noexcept;

// Adds that table to those of a static program.
void add_made_frame_table(ObjectTables& tables) noexcept;

// The object's own; empty where they are not in memory.
ProgramHeaders headers_of(const ObjectTables& object) noexcept;

// size_bytes is 0 without one.
BuildId read_build_id(const ObjectTables& tables) noexcept;

// With the headers, as what lies between the segments may not be mapped.
ObjectTables tables_of(const ProgramHeaders& headers, std::uint64_t bias) noexcept;

}  // namespace heapwright::unwind
