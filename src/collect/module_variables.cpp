// SPDX-License-Identifier: MIT
#include "collect/module_variables.hpp"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "collect/demangled.hpp"

namespace heapwright::collect {
namespace {

constexpr std::uint64_t segment_page_bytes = 4096;
constexpr std::size_t most_variables = 1U << 20;

// Calls visit(symbol, name) for each symbol of the table.
template <typename Visit>
void for_symbols(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, const Visit& visit) {
  Elf_Data* const data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const std::size_t count = std::min<std::size_t>(data->d_size / header.sh_entsize, 0x7fffffff);
  for (std::size_t index = 0; index < count; ++index) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(index), &symbol) == nullptr) return;
    const char* const name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name != nullptr && *name != '\0') visit(symbol, name);
  }
}

}  // namespace

ModuleVariables::ModuleVariables(const std::string& path) {
  elf_version(EV_CURRENT);
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return;
  const auto close_elf = [file](Elf* elf) {
    elf_end(elf);
    close(file);
  };
  const std::unique_ptr<Elf, decltype(close_elf)> elf(elf_begin(file, ELF_C_READ_MMAP, nullptr), close_elf);
  std::size_t segments = 0;
  if (elf == nullptr || elf_getphdrnum(elf.get(), &segments) != 0) return;
  bool has_base = false;
  for (std::size_t index = 0; index < segments && index < 0xffff; ++index) {
    GElf_Phdr header;
    if (gelf_getphdr(elf.get(), static_cast<int>(index), &header) == nullptr) return;
    const std::uint64_t end = header.p_vaddr + header.p_memsz;
    if (header.p_type == PT_TLS) thread_local_bytes_ = header.p_memsz + header.p_align;
    if (header.p_type != PT_LOAD || end < header.p_vaddr) continue;
    if (!has_base) base_ = header.p_vaddr / segment_page_bytes * segment_page_bytes;
    has_base = true;
    if ((header.p_flags & PF_W) != 0) writable_.push_back({header.p_vaddr, end});
  }
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf.get(), section)) != nullptr) {
    GElf_Shdr header;
    const bool is_table = gelf_getshdr(section, &header) != nullptr &&
                          (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM);
    if (!is_table) continue;
    for_symbols(elf.get(), section, header, [this](const GElf_Sym& symbol, const char* name) {
      const bool is_variable = GELF_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_shndx != SHN_UNDEF &&
                               symbol.st_size != 0 && variables_.size() < most_variables;
      if (is_variable) variables_.push_back({symbol.st_value, symbol.st_value + symbol.st_size, name});
    });
  }
  std::stable_sort(variables_.begin(), variables_.end(),
                   [](const Variable& a, const Variable& b) { return a.begin < b.begin; });
}

std::string ModuleVariables::name_at(std::uint64_t address) const {
  auto after =
      std::upper_bound(variables_.begin(), variables_.end(), address,
                       [](std::uint64_t at, const Variable& variable) { return at < variable.begin; });
  // A large variable may contain smaller ones' names.
  for (int step = 0; step < 4 && after != variables_.begin(); ++step) {
    --after;
    if (address < after->end) return demangled(after->name.c_str());
  }
  return {};
}

}  // namespace heapwright::collect
