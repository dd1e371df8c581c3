// SPDX-License-Identifier: MIT
#include "symbolize/called_names.hpp"

#include <elf.h>
#include <gelf.h>

#include <algorithm>
#include <array>

namespace heapwright::symbolize {
namespace {

void read_relocations(Elf* elf, Elf_Scn* section, const GElf_Shdr& header,
                      std::unordered_map<std::uint64_t, CalledFunction>& functions) {
  Elf_Data* const data = elf_getdata(section, nullptr);
  Elf_Scn* const table = elf_getscn(elf, header.sh_link);
  GElf_Shdr of_table;
  if (data == nullptr || table == nullptr || gelf_getshdr(table, &of_table) == nullptr) return;
  Elf_Data* const symbols = elf_getdata(table, nullptr);
  for (int i = 0; symbols != nullptr; ++i) {
    GElf_Rela relocation;
    GElf_Sym symbol;
    if (gelf_getrela(data, i, &relocation) == nullptr) return;
    const auto type = GELF_R_TYPE(relocation.r_info);
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
    if (gelf_getsym(symbols, static_cast<int>(GELF_R_SYM(relocation.r_info)), &symbol) == nullptr) continue;
    const char* const name = elf_strptr(elf, of_table.sh_link, symbol.st_name);
    if (name != nullptr) functions.try_emplace(relocation.r_offset, CalledFunction{name, symbol.st_value});
  }
}

}  // namespace

CalledNames::CalledNames(Elf* elf) {
  Elf_Scn* section = nullptr;
  while (elf != nullptr && (section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    const bool has_some = gelf_getshdr(section, &header) != nullptr && header.sh_type == SHT_RELA;
    if (has_some) read_relocations(elf, section, header, functions_);
  }
}

std::uint64_t CalledNames::distance(std::span<const std::uint8_t> bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i) value |= std::uint32_t{bytes[i]} << (8 * i);
  return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(value)});
}

CalledFunction CalledNames::of_stub(std::span<const std::uint8_t> code, std::uint64_t address) const {
  static constexpr std::array<std::uint8_t, 4> marker = {0xf3, 0x0f, 0x1e, 0xfa};
  constexpr std::size_t jump_bytes = 6;
  std::size_t begin = 0;
  if (code.size() >= marker.size() && std::equal(marker.begin(), marker.end(), code.begin())) begin = 4;
  if (code.size() > begin && code[begin] == 0xf2) ++begin;
  if (code.size() < begin + jump_bytes || code[begin] != 0xff || code[begin + 1] != 0x25) return {};
  return at(address + begin + jump_bytes + distance(code.subspan(begin + 2, 4)));
}

CalledFunction CalledNames::at(std::uint64_t place) const {
  const auto found = functions_.find(place);
  return found == functions_.end() ? CalledFunction{} : found->second;
}

}  // namespace heapwright::symbolize
