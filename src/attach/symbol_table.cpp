// SPDX-License-Identifier: MIT
#include "attach/symbol_table.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <string_view>
#include <vector>

#include "attach/agent/layout.hpp"
#include "tracee/process_status.hpp"

namespace heapwright::attach {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;  // of a table, in a damaged file
constexpr std::size_t most_sections = 0xffff;

template <typename Row>
std::vector<Row> read_rows(std::ifstream& file, std::uint64_t offset, std::uint64_t bytes) {
  if (bytes > most_bytes) return {};
  std::vector<Row> rows(bytes / sizeof(Row));
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(rows.data()), static_cast<std::streamsize>(rows.size() * sizeof(Row)));
  rows.resize(static_cast<std::size_t>(file.gcount()) / sizeof(Row));
  return rows;
}

// With any prefix. A browser has a million other functions, which would take 200 MB.
bool is_of_allocator(std::string_view name) {
  const auto ends_it = [&](std::string_view ending) { return name.ends_with(ending); };
  constexpr std::array<std::string_view, 4> further = {"usable_size", "_new", "__init_tp",
                                                       "__malloc_arena_thread_freeres"};
  return std::any_of(std::begin(agent::entry_names), std::end(agent::entry_names), ends_it) ||
         std::any_of(further.begin(), further.end(), ends_it);
}

void add_functions(std::ifstream& file, const Elf64_Shdr& symbols, const Elf64_Shdr& strings,
                   std::uint64_t bias, SymbolTable& table) {
  auto names = read_rows<char>(file, strings.sh_offset, strings.sh_size);
  if (names.empty()) return;
  names.back() = '\0';
  for (const auto& symbol : read_rows<Elf64_Sym>(file, symbols.sh_offset, symbols.sh_size)) {
    const auto type = ELF64_ST_TYPE(symbol.st_info);
    const bool is_function = type == STT_FUNC;
    const bool is_defined = symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0;
    if (!is_defined || (!is_function && type != STT_GNU_IFUNC) || symbol.st_name >= names.size()) continue;
    const char* const name = names.data() + symbol.st_name;
    // One in any case: an empty table is that of a stripped program.
    if (!table.empty() && !is_of_allocator(name)) continue;
    table.try_emplace(name, Symbol{bias + symbol.st_value, symbol.st_size, is_function});
  }
}

// The sections of a file, and where it says that it begins.
struct Sections {
  std::ifstream file;
  std::vector<Elf64_Shdr> rows;
  std::uint64_t entry = 0;
  std::size_t names = 0;  // number of the section with their names

  explicit Sections(const std::string& path) : file(path, std::ios::binary) {
    const auto header = read_rows<Elf64_Ehdr>(file, 0, sizeof(Elf64_Ehdr));
    if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0) return;
    const std::size_t count = std::min<std::size_t>(header[0].e_shnum, most_sections);
    rows = read_rows<Elf64_Shdr>(file, header[0].e_shoff, count * sizeof(Elf64_Shdr));
    entry = header[0].e_entry;
    names = header[0].e_shstrndx;
  }
};

std::string executable_of(pid_t process) { return tracee::memory_folder(process) + "/exe"; }

// bias: how far it lies from where the file says.
SymbolTable read_table(Sections& sections, std::uint64_t bias) {
  SymbolTable table;
  for (const Elf64_Shdr& section : sections.rows) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.rows.size()) continue;
    add_functions(sections.file, section, sections.rows[section.sh_link], bias, table);
  }
  return table;
}

}  // namespace

SymbolTable read_symbol_table(pid_t process, std::uint64_t entry) {
  Sections sections(executable_of(process));
  return read_table(sections, entry - sections.entry);
}

SymbolTable read_library_table(const std::string& path, std::uint64_t bias) {
  Sections sections(path);
  return read_table(sections, bias);
}

SectionPlace find_section(pid_t process, std::uint64_t entry, const std::string& name) {
  Sections sections(executable_of(process));
  if (sections.names >= sections.rows.size()) return {};
  const Elf64_Shdr& texts = sections.rows[sections.names];
  auto names = read_rows<char>(sections.file, texts.sh_offset, texts.sh_size);
  if (names.empty()) return {};
  names.back() = '\0';
  for (const Elf64_Shdr& section : sections.rows) {
    if ((section.sh_flags & SHF_ALLOC) == 0 || section.sh_name >= names.size()) continue;
    if (name == names.data() + section.sh_name) {
      return {entry - sections.entry + section.sh_addr, section.sh_size};
    }
  }
  return {};
}

}  // namespace heapwright::attach
