// SPDX-License-Identifier: MIT
#include "unwind/program_headers.hpp"

#include <cstring>

#include "unwind/byte_cursor.hpp"

extern "C" unsigned long getauxval(unsigned long type) noexcept;

namespace heapwright::unwind {
namespace {

bool take_build_id(ByteCursor notes, BuildId& id) {
  while (!notes.is_at_end()) {
    const auto name_bytes = notes.read<std::uint32_t>();
    const auto value_bytes = notes.read<std::uint32_t>();
    const auto type = notes.read<std::uint32_t>();
    const std::uint8_t* name = notes.position();
    notes.skip((static_cast<std::uint64_t>(name_bytes) + 3) & ~3ULL);
    const std::uint8_t* value = notes.position();
    notes.skip((static_cast<std::uint64_t>(value_bytes) + 3) & ~3ULL);
    if (notes.has_failed()) return false;
    if (type != NT_GNU_BUILD_ID || name_bytes != 4 || std::memcmp(name, "GNU", 4) != 0) continue;
    id.size_bytes = value_bytes < sizeof id.bytes ? value_bytes : static_cast<std::uint32_t>(sizeof id.bytes);
    std::memcpy(id.bytes, value, id.size_bytes);
    return true;
  }
  return false;
}

// Those after the ELF header, if the object's first page has it.
ProgramHeaders headers_in_memory(const ObjectTables& object) {
  constexpr std::uint64_t page_bytes = 4096;
  if (segment_end(object, object.start) - object.start < page_bytes) return {};
  Elf64_Ehdr header;
  std::memcpy(&header, reinterpret_cast<const void*>(object.start), sizeof header);
  const bool is_header =
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_phentsize == sizeof(Elf64_Phdr);
  const std::uint64_t bytes = header.e_phnum * std::uint64_t{sizeof(Elf64_Phdr)};
  if (!is_header || header.e_phoff > page_bytes || bytes > page_bytes - header.e_phoff) return {};
  return {reinterpret_cast<const Elf64_Phdr*>(object.start + header.e_phoff), header.e_phnum};
}

}  // namespace

ProgramHeaders headers_of_program() noexcept {
  return {reinterpret_cast<const Elf64_Phdr*>(getauxval(AT_PHDR)),
          static_cast<std::uint32_t>(getauxval(AT_PHNUM))};
}

void add_made_frame_table(ObjectTables& tables) noexcept {
  if (tables.frame_header != 0) return;
  tables.frame_header = getauxval(auxiliary_frame_table);
  tables.frame_header_end = tables.frame_header + getauxval(auxiliary_frame_table_bytes);
}

ProgramHeaders headers_of(const ObjectTables& object) noexcept {
  if (object.headers != nullptr) return {object.headers, object.header_count};
  return headers_in_memory(object);
}

BuildId read_build_id(const ObjectTables& tables) noexcept {
  BuildId id;
  for (const Elf64_Phdr& segment : headers_of(tables)) {
    const std::uint64_t notes = tables.bias + segment.p_vaddr;
    if (segment.p_type != PT_NOTE || segment.p_memsz > segment_end(tables, notes) - notes) continue;
    const ByteCursor cursor(reinterpret_cast<const void*>(notes),
                            reinterpret_cast<const void*>(notes + segment.p_memsz));
    if (take_build_id(cursor, id)) return id;
  }
  return id;
}

ObjectTables tables_of(const ProgramHeaders& headers, std::uint64_t bias) noexcept {
  constexpr std::uint64_t whole_pages = ~4095ULL;
  ObjectTables tables;
  tables.start = UINT64_MAX;
  tables.bias = bias;
  tables.headers = headers.first;
  tables.header_count = headers.count;
  for (const Elf64_Phdr& segment : headers) {
    const std::uint64_t begin = bias + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) tables.frame_header = begin;
    if (segment.p_type != PT_LOAD) continue;
    if ((begin & whole_pages) < tables.start) tables.start = begin & whole_pages;
    if (begin + segment.p_memsz > tables.end) tables.end = begin + segment.p_memsz;
  }
  return tables;
}

}  // namespace heapwright::unwind
