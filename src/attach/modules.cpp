// SPDX-License-Identifier: MIT
#include "attach/modules.hpp"

#include <elf.h>
#include <link.h>

#include <fstream>

#include "tracee/process_status.hpp"

namespace heapwright::attach {
namespace {

// Limits, because a program may damage the memory that we read: every walk must end.
constexpr int max_modules = 20'000;
constexpr int max_dynamic_entries = 1'000;
constexpr std::uint64_t max_headers = 1'000;
constexpr std::uint32_t max_chain = 100'000;

std::uint32_t gnu_hash_of(const std::string& name) {
  std::uint32_t hash = 5381;
  for (const char letter : name) hash = hash * 33 + static_cast<unsigned char>(letter);
  return hash;
}

std::uint32_t elf_hash_of(const std::string& name) {
  std::uint32_t hash = 0;
  for (const char letter : name) {
    hash = (hash << 4) + static_cast<unsigned char>(letter);
    const std::uint32_t high = hash & 0xf0000000U;
    hash = (hash ^ high >> 24) & ~high;
  }
  return hash;
}

// The loader adds the base to some of these addresses; the kernel's object has them without.
void read_dynamic(const TargetMemory& memory, std::uint64_t at, Module& module) {
  const auto placed = [&](std::uint64_t address) {
    return address < module.base ? module.base + address : address;
  };
  for (int count = 0; count < max_dynamic_entries; ++count, at += sizeof(Elf64_Dyn)) {
    const auto entry = memory.value_at<Elf64_Dyn>(at);
    const std::uint64_t value = entry.d_un.d_ptr;
    if (entry.d_tag == DT_NULL) return;
    if (entry.d_tag == DT_SYMTAB) module.symbols = placed(value);
    if (entry.d_tag == DT_STRTAB) module.strings = placed(value);
    if (entry.d_tag == DT_GNU_HASH) module.gnu_hash = placed(value);
    if (entry.d_tag == DT_HASH) module.hash = placed(value);
  }
}

struct Headers {
  std::uint64_t base = 0;
  std::uint64_t dynamic = 0;  // 0: none
};

Headers read_headers(const TargetMemory& memory, std::uint64_t at, std::uint64_t count) {
  Headers found;
  std::uint64_t dynamic = 0;
  bool has_dynamic = false;
  for (std::uint64_t index = 0; index < std::min(count, max_headers); ++index) {
    const auto header = memory.value_at<Elf64_Phdr>(at + index * sizeof(Elf64_Phdr));
    if (header.p_type == PT_PHDR) found.base = at - header.p_vaddr;
    if (header.p_type == PT_DYNAMIC) {
      dynamic = header.p_vaddr;
      has_dynamic = true;
    }
  }
  if (has_dynamic) found.dynamic = found.base + dynamic;
  return found;
}

std::uint64_t debugger_words(const TargetMemory& memory, std::uint64_t dynamic) {
  for (int count = 0; count < max_dynamic_entries; ++count, dynamic += sizeof(Elf64_Dyn)) {
    const auto entry = memory.value_at<Elf64_Dyn>(dynamic);
    if (entry.d_tag == DT_NULL) return 0;
    if (entry.d_tag == DT_DEBUG) return entry.d_un.d_ptr;
  }
  return 0;
}

std::optional<Symbol> symbol_if(const TargetMemory& memory, const Module& module, std::uint64_t index,
                                const std::string& name) {
  const auto symbol = memory.value_at<Elf64_Sym>(module.symbols + index * sizeof(Elf64_Sym));
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) return std::nullopt;
  std::string text(name.size() + 1, '?');
  if (!memory.read(module.strings + symbol.st_name, text.data(), text.size())) return std::nullopt;
  if (text.back() != '\0' || text.compare(0, name.size(), name) != 0) return std::nullopt;
  const bool is_function = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
  return Symbol{module.base + symbol.st_value, symbol.st_size, is_function};
}

std::optional<Symbol> find_by_gnu_hash(const TargetMemory& memory, const Module& module,
                                       const std::string& name) {
  struct Head {
    std::uint32_t buckets;
    std::uint32_t first_symbol;
    std::uint32_t filter_words;
    std::uint32_t filter_shift;
  };
  const auto head = memory.value_at<Head>(module.gnu_hash);
  if (head.buckets == 0) return std::nullopt;
  const std::uint64_t buckets = module.gnu_hash + sizeof head + std::uint64_t{head.filter_words} * 8;
  const std::uint64_t chains = buckets + std::uint64_t{head.buckets} * 4;
  const std::uint32_t wanted = gnu_hash_of(name);
  auto index = memory.value_at<std::uint32_t>(buckets + std::uint64_t{wanted % head.buckets} * 4);
  if (index < head.first_symbol) return std::nullopt;
  for (std::uint32_t steps = 0; steps < max_chain; ++steps, ++index) {
    const auto hash = memory.value_at<std::uint32_t>(chains + std::uint64_t{index - head.first_symbol} * 4);
    if ((hash | 1U) == (wanted | 1U)) {
      if (auto found = symbol_if(memory, module, index, name)) return found;
    }
    if ((hash & 1U) != 0) break;
  }
  return std::nullopt;
}

std::optional<Symbol> find_by_hash(const TargetMemory& memory, const Module& module,
                                   const std::string& name) {
  const auto buckets = memory.value_at<std::uint32_t>(module.hash);
  if (buckets == 0) return std::nullopt;
  const std::uint64_t first = module.hash + 8;
  auto index = memory.value_at<std::uint32_t>(first + std::uint64_t{elf_hash_of(name) % buckets} * 4);
  for (std::uint32_t steps = 0; index != 0 && steps < max_chain; ++steps) {
    if (auto found = symbol_if(memory, module, index, name)) return found;
    index = memory.value_at<std::uint32_t>(first + (std::uint64_t{buckets} + index) * 4);
  }
  return std::nullopt;
}

std::uint64_t value_of(const std::map<std::uint64_t, std::uint64_t>& auxiliary, std::uint64_t type) {
  const auto found = auxiliary.find(type);
  return found == auxiliary.end() ? 0 : found->second;
}

}  // namespace

std::map<std::uint64_t, std::uint64_t> read_auxiliary(pid_t process) {
  std::map<std::uint64_t, std::uint64_t> entries;
  std::ifstream file(tracee::memory_folder(process) + "/auxv", std::ios::binary);
  std::uint64_t entry[2];
  while (file.read(reinterpret_cast<char*>(entry), sizeof entry) && entry[0] != AT_NULL) {
    entries[entry[0]] = entry[1];
  }
  return entries;
}

std::vector<Module> read_modules(const TargetMemory& memory,
                                 const std::map<std::uint64_t, std::uint64_t>& auxiliary) {
  std::vector<Module> modules;
  const Headers program = read_headers(memory, value_of(auxiliary, AT_PHDR), value_of(auxiliary, AT_PHNUM));
  if (program.dynamic == 0) return modules;
  const std::uint64_t words = debugger_words(memory, program.dynamic);
  if (words == 0) return modules;
  auto at = reinterpret_cast<std::uint64_t>(memory.value_at<r_debug>(words).r_map);
  for (int count = 0; at != 0 && count < max_modules; ++count) {
    const auto link = memory.value_at<link_map>(at);
    Module module{.base = link.l_addr, .path = memory.text_at(reinterpret_cast<std::uint64_t>(link.l_name))};
    read_dynamic(memory, reinterpret_cast<std::uint64_t>(link.l_ld), module);
    modules.push_back(std::move(module));
    at = reinterpret_cast<std::uint64_t>(link.l_next);
  }
  return modules;
}

std::optional<Module> read_kernel_module(const TargetMemory& memory,
                                         const std::map<std::uint64_t, std::uint64_t>& auxiliary) {
  const std::uint64_t base = value_of(auxiliary, AT_SYSINFO_EHDR);
  if (base == 0) return std::nullopt;
  const auto header = memory.value_at<Elf64_Ehdr>(base);
  Module module{.base = base, .path = "[vdso]"};
  for (std::uint64_t index = 0; index < std::min<std::uint64_t>(header.e_phnum, max_headers); ++index) {
    const auto segment = memory.value_at<Elf64_Phdr>(base + header.e_phoff + index * sizeof(Elf64_Phdr));
    if (segment.p_type == PT_DYNAMIC) read_dynamic(memory, base + segment.p_vaddr, module);
  }
  return module;
}

std::optional<Symbol> find_symbol(const TargetMemory& memory, const Module& module, const std::string& name) {
  if (module.symbols == 0 || module.strings == 0) return std::nullopt;
  if (module.gnu_hash != 0) return find_by_gnu_hash(memory, module, name);
  if (module.hash != 0) return find_by_hash(memory, module, name);
  return std::nullopt;
}

}  // namespace heapwright::attach
