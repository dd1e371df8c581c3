// SPDX-License-Identifier: MIT
#include "collect/elf_calls.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace heapwright::collect {
namespace {

constexpr std::uint64_t most_code_bytes = 512;
constexpr std::uint64_t stub_bytes = 16;
constexpr std::size_t near_bytes = 5;      // e8 or e9, and a distance
constexpr std::size_t indirect_bytes = 6;  // ff 15 or ff 25, and a distance

bool is_heap_call(std::string_view name) {
  for (const std::string_view one : {"malloc", "calloc", "realloc", "free", "memalign", "aligned_alloc",
                                     "posix_memalign", "malloc_usable_size"}) {
    if (name == one) return true;
  }
  return false;
}

std::uint64_t target_of(const std::string& code, std::size_t at, std::size_t length, std::uint64_t address) {
  std::int32_t distance = 0;
  std::memcpy(&distance, code.data() + at + length - sizeof distance, sizeof distance);
  return address + at + length + static_cast<std::uint64_t>(std::int64_t{distance});
}

}  // namespace

ElfCalls::ElfCalls(Elf* elf, int file) : file_(file) {
  std::size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return;
  for (std::size_t index = 0; index < count && index < 0xffff; ++index) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(index), &header) == nullptr) return;
    if (header.p_type == PT_LOAD) segments_.push_back(header);
  }
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    if (header.sh_type == SHT_RELA) add_relocations(elf, section, header);
  }
}

void ElfCalls::add_relocations(Elf* elf, Elf_Scn* section, const GElf_Shdr& header) {
  Elf_Scn* const symbols = elf_getscn(elf, header.sh_link);
  GElf_Shdr symbols_header;
  if (symbols == nullptr || gelf_getshdr(symbols, &symbols_header) == nullptr) return;
  Elf_Data* const names = elf_getdata(symbols, nullptr);
  Elf_Data* const data = elf_getdata(section, nullptr);
  if (names == nullptr || data == nullptr || header.sh_entsize == 0) return;
  const std::size_t count = std::min<std::size_t>(data->d_size / header.sh_entsize, 0x7fffffff);
  for (std::size_t index = 0; index < count; ++index) {
    GElf_Rela relocation;
    GElf_Sym symbol;
    if (gelf_getrela(data, static_cast<int>(index), &relocation) == nullptr) return;
    const auto number = GELF_R_SYM(relocation.r_info);
    if (number == 0 || gelf_getsym(names, static_cast<int>(number), &symbol) == nullptr) continue;
    const char* const name = elf_strptr(elf, symbols_header.sh_link, symbol.st_name);
    if (name != nullptr && is_heap_call(name)) slots_.insert(relocation.r_offset);
  }
}

std::string ElfCalls::read(std::uint64_t address, std::uint64_t bytes) const {
  for (const GElf_Phdr& segment : segments_) {
    if (address - segment.p_vaddr >= segment.p_filesz) continue;
    const std::uint64_t offset = address - segment.p_vaddr;
    std::string code(std::min(bytes, segment.p_filesz - offset), '\0');
    const ssize_t length =
        pread(file_, code.data(), code.size(), static_cast<off_t>(segment.p_offset + offset));
    code.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return code;
  }
  return "";
}

// jmp or call through a pointer to malloc.
bool ElfCalls::is_malloc_slot(std::uint64_t address, const std::string& code, std::size_t at) const {
  if (at + indirect_bytes > code.size() || code[at] != '\xff') return false;
  if (code[at + 1] != '\x15' && code[at + 1] != '\x25') return false;
  return slots_.contains(target_of(code, at, indirect_bytes, address));
}

// Bytes that only look like a call would also have to lead to malloc.
bool ElfCalls::calls_malloc(std::uint64_t address, std::uint64_t bytes) const {
  if (slots_.empty()) return false;
  const std::string code = read(address, std::min(bytes, most_code_bytes));
  for (std::size_t at = 0; at + near_bytes <= code.size(); ++at) {
    if (is_malloc_slot(address, code, at)) return true;
    if (code[at] != '\xe8' && code[at] != '\xe9') continue;
    const std::uint64_t stub = target_of(code, at, near_bytes, address);
    const std::string jump = read(stub, stub_bytes);
    if (is_malloc_slot(stub, jump, std::min(jump.find("\xff\x25"), jump.size()))) return true;
  }
  return false;
}

}  // namespace heapwright::collect
