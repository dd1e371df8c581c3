// SPDX-License-Identifier: MIT
#include "collect/module_variables.hpp"

#include <fcntl.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "collect/demangled.hpp"

namespace heapwright::collect {
namespace {

constexpr std::uint64_t segment_page_bytes = 4096;
constexpr std::uint64_t most_thread_local_bytes = 1U << 30U;  // more is damage
constexpr std::size_t most_variables = 1U << 20;
// TLSDESC, which aarch64 uses instead, does not tell one from the other.
#if defined(__x86_64__)
constexpr std::uint64_t offset_relocation = R_X86_64_TPOFF64;
constexpr std::uint64_t number_relocation = R_X86_64_DTPMOD64;
#else
constexpr std::uint64_t offset_relocation = R_AARCH64_TLS_TPREL;
constexpr std::uint64_t number_relocation = R_AARCH64_TLS_DTPMOD;
#endif

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
    if (header.p_type == PT_LOAD && !std::exchange(has_base, true)) {
      base_ = header.p_vaddr / segment_page_bytes * segment_page_bytes;
    }
    read_segment(header);
  }
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf.get(), section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM) {
      read_symbols(elf.get(), section, header);
    }
    if (header.sh_type == SHT_RELA && thread_local_size_ != 0) read_relocations(elf.get(), section, header);
  }
  names_.sort();
  thread_local_names_.sort();
}

void ModuleVariables::read_symbols(Elf* elf, Elf_Scn* section, const GElf_Shdr& header) {
  for_symbols(elf, section, header, [this](const GElf_Sym& symbol, const char* name) {
    const int type = GELF_ST_TYPE(symbol.st_info);
    VariableNames& names = type == STT_TLS ? thread_local_names_ : names_;
    const bool is_variable = (type == STT_OBJECT || type == STT_TLS) && symbol.st_shndx != SHN_UNDEF &&
                             symbol.st_size != 0 && names.size() < most_variables;
    if (is_variable) names.add(symbol.st_value, symbol.st_value + symbol.st_size, name);
  });
}

// The first that tells the offset of a variable of its own, or else the module's number.
void ModuleVariables::read_relocations(Elf* elf, Elf_Scn* section, const GElf_Shdr& header) {
  Elf_Data* const data = elf_getdata(section, nullptr);
  Elf_Scn* const table = elf_getscn(elf, header.sh_link);
  Elf_Data* const symbols = table == nullptr ? nullptr : elf_getdata(table, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const std::size_t count = std::min<std::size_t>(data->d_size / header.sh_entsize, 0x7fffffff);
  for (std::size_t index = 0; index < count; ++index) {
    GElf_Rela entry;
    if (gelf_getrela(data, static_cast<int>(index), &entry) == nullptr) return;
    const bool is_offset = GELF_R_TYPE(entry.r_info) == offset_relocation;
    if (!is_offset && GELF_R_TYPE(entry.r_info) != number_relocation) continue;
    GElf_Sym symbol{};
    const auto number = static_cast<int>(GELF_R_SYM(entry.r_info));
    const bool is_own =
        number == 0 || (symbols != nullptr && gelf_getsym(symbols, number, &symbol) != nullptr &&
                        symbol.st_shndx != SHN_UNDEF);
    if (!is_own) continue;
    if (!is_offset) {
      if (thread_local_word_.kind == LinkedWord::Kind::none) {
        thread_local_word_ = {LinkedWord::Kind::number, entry.r_offset, 0};
      }
      continue;
    }
    thread_local_word_ = {LinkedWord::Kind::offset, entry.r_offset,
                          static_cast<std::int64_t>(symbol.st_value) + entry.r_addend};
    return;
  }
}

void ModuleVariables::read_segment(const GElf_Phdr& header) {
  const std::uint64_t end = header.p_vaddr + header.p_memsz;
  if (header.p_type == PT_LOAD && end >= header.p_vaddr && (header.p_flags & PF_W) != 0) {
    writable_.push_back({header.p_vaddr, end});
  }
  if (header.p_type != PT_TLS || header.p_memsz > most_thread_local_bytes) return;
  const std::uint64_t align = std::max<std::uint64_t>(header.p_align, 1);
  thread_local_size_ = header.p_memsz;
  thread_local_bytes_ = header.p_memsz + align;
  if (align > segment_page_bytes || header.p_vaddr % align != 0) return;
#if defined(__x86_64__)
  // The psABI's: below the thread pointer, the program's own next to it.
  thread_local_begin_ = -static_cast<std::int64_t>((header.p_memsz + align - 1) / align * align);
#else
  constexpr std::uint64_t thread_control_bytes = 16;
  thread_local_begin_ = static_cast<std::int64_t>((thread_control_bytes + align - 1) / align * align);
#endif
}

void VariableNames::sort() {
  std::stable_sort(variables_.begin(), variables_.end(),
                   [](const Variable& a, const Variable& b) { return a.begin < b.begin; });
}

std::string VariableNames::at(std::uint64_t address) const {
  auto after =
      std::upper_bound(variables_.begin(), variables_.end(), address,
                       [](std::uint64_t at, const Variable& variable) { return at < variable.begin; });
  // A large variable may contain smaller ones' names.
  for (int step = 0; step < 4 && after != variables_.begin(); ++step) {
    --after;
    if (address < after->end) return demangled(after->symbol.c_str());
  }
  return {};
}

}  // namespace heapwright::collect
