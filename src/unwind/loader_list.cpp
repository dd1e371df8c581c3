// SPDX-License-Identifier: MIT
#include "unwind/loader_list.hpp"

#include <elf.h>

#include <cstring>

#include "platform/pause.hpp"
#include "unwind/program_headers.hpp"

namespace heapwright::unwind {
namespace {

// The public parts of <link.h>, which debuggers read.
struct LinkMap {
  std::uint64_t bias;
  const char* name;
  std::uint64_t dynamic;
  const LinkMap* next;
  const LinkMap* previous;
};
struct LoaderState {
  int version;
  const LinkMap* first;
  std::uint64_t breakpoint;
  int state;
};
constexpr int state_deleting = 2;

// The linker writes its state's address into the program's dynamic section. nullptr: a static program.
const volatile LoaderState* loader_state() {
  const ProgramHeaders headers = headers_of_program();
  if (headers.first == nullptr) return nullptr;
  std::uint64_t bias = 0;
  bool is_placed = false;  // a program with an interpreter says where its headers are, before other segments
  for (const Elf64_Phdr& segment : headers) {
    if (segment.p_type == PT_PHDR) {
      bias = reinterpret_cast<std::uint64_t>(headers.first) - segment.p_vaddr;
      is_placed = true;
    }
    if (segment.p_type != PT_DYNAMIC || !is_placed) continue;
    const auto* entry = reinterpret_cast<const Elf64_Dyn*>(bias + segment.p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_DEBUG) return reinterpret_cast<const LoaderState*>(entry->d_un.d_ptr);
    }
  }
  return nullptr;
}

// A static program is one object, whose headers follow the ELF header in its first segment.
bool find_in_static_program(std::uint64_t address, LoadedObject& object) {
  const ProgramHeaders headers = headers_of_program();
  for (const Elf64_Phdr& segment : headers) {
    if (segment.p_type == PT_INTERP) return false;
    if (segment.p_type != PT_LOAD || segment.p_offset != 0) continue;
    const std::uint64_t start = reinterpret_cast<std::uint64_t>(headers.first) - sizeof(Elf64_Ehdr);
    object = {tables_of(headers, start - segment.p_vaddr), nullptr};
    add_made_frame_table(object.tables);
    return address >= object.tables.start && address < object.tables.end;
  }
  return false;
}

// Waits while objects are being unloaded, which takes some tens of microseconds. False: for longer, perhaps
// by this very thread.
bool is_steady(const volatile LoaderState& loader) {
  for (int looks = 0; looks < 5'000; ++looks) {
    if (loader.state != state_deleting) return true;
    platform::pause();
  }
  return false;
}

// A library begins with its ELF header, unless it was linked for an address (prelinked): then its bias is no
// place in it, and the dynamic section is far from it.
ProgramHeaders headers_of_library(const LinkMap& map) {
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30U;
  if (map.bias == 0 || map.dynamic - map.bias > most_bytes) return {};
  Elf64_Ehdr header;
  std::memcpy(&header, reinterpret_cast<const void*>(map.bias), sizeof header);
  const bool is_header =
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_phentsize == sizeof(Elf64_Phdr);
  if (!is_header) return {};
  return {reinterpret_cast<const Elf64_Phdr*>(map.bias + header.e_phoff), header.e_phnum};
}

}  // namespace

bool has_loader_list() noexcept { return loader_state() != nullptr; }

bool find_in_loader_list(std::uint64_t address, LoadedObject& object) noexcept {
  const volatile LoaderState* const loader = loader_state();
  if (loader == nullptr) return find_in_static_program(address, object);
  if (!is_steady(*loader)) return false;
  for (const LinkMap* map = loader->first; map != nullptr; map = map->next) {
    const bool is_program = map->name == nullptr || *map->name == '\0';
    const ProgramHeaders headers = is_program ? headers_of_program() : headers_of_library(*map);
    if (headers.first == nullptr) continue;
    object = {tables_of(headers, map->bias), map->name};
    if (address >= object.tables.start && address < object.tables.end) return true;
  }
  return false;
}

}  // namespace heapwright::unwind
