// SPDX-License-Identifier: MIT
#include "record/loaded_symbols.hpp"

#include <cstring>

namespace heapwright::record {
namespace {

std::uint32_t gnu_hash_of(const char* name) noexcept {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

std::uint32_t old_hash_of(const char* name) noexcept {
  std::uint32_t hash = 0;
  for (; *name != '\0'; ++name) {
    hash = (hash << 4) + static_cast<unsigned char>(*name);
    hash ^= (hash >> 24) & 0xf0;
    hash &= 0x0fffffff;
  }
  return hash;
}

bool is_meant(const LoadedSymbols& object, const Elf64_Sym& symbol, const char* name,
              unsigned type) noexcept {
  return symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 && ELF64_ST_TYPE(symbol.st_info) == type &&
         std::strcmp(object.strings + symbol.st_name, name) == 0;
}

// [buckets][first symbol][bloom words][bloom shift], bloom, buckets, chains.
const Elf64_Sym* find_by_gnu_hash(const LoadedSymbols& object, const char* name, unsigned type) noexcept {
  const std::uint32_t* table = object.gnu_hash;
  const std::uint32_t bucket_count = table[0];
  const std::uint32_t first_symbol = table[1];
  const std::uint32_t bloom_words = table[2];
  if (bucket_count == 0 || bloom_words == 0) return nullptr;
  const auto* bloom = reinterpret_cast<const std::uint64_t*>(table + 4);
  const auto* buckets = reinterpret_cast<const std::uint32_t*>(bloom + bloom_words);
  const std::uint32_t* chains = buckets + bucket_count;
  const std::uint32_t hash = gnu_hash_of(name);
  const std::uint64_t bits = 1ULL << (hash % 64) | 1ULL << ((hash >> table[3]) % 64);
  if ((bloom[hash / 64 % bloom_words] & bits) != bits) return nullptr;
  std::uint32_t index = buckets[hash % bucket_count];
  if (index < first_symbol) return nullptr;
  for (;; ++index) {
    const std::uint32_t chain = chains[index - first_symbol];
    if ((chain | 1) == (hash | 1) && is_meant(object, object.symbols[index], name, type)) {
      return object.symbols + index;
    }
    if ((chain & 1) != 0) return nullptr;
  }
}

const Elf64_Sym* find_by_old_hash(const LoadedSymbols& object, const char* name, unsigned type) noexcept {
  const std::uint32_t* table = object.old_hash;
  const std::uint32_t bucket_count = table[0];
  if (bucket_count == 0) return nullptr;
  const std::uint32_t* buckets = table + 2;
  const std::uint32_t* chains = buckets + bucket_count;
  std::uint32_t index = buckets[old_hash_of(name) % bucket_count];
  for (; index != STN_UNDEF; index = chains[index]) {
    if (is_meant(object, object.symbols[index], name, type)) return object.symbols + index;
  }
  return nullptr;
}

struct Wanted {
  const char* function;
  void* found = nullptr;
};

int look_in_libstdcxx(dl_phdr_info* info, std::size_t, void* data) noexcept {
  if (info->dlpi_name == nullptr || std::strstr(info->dlpi_name, "/libstdc++.so.6") == nullptr) return 0;
  const LoadedSymbols object(*info);
  const Elf64_Sym* unique = object.find_variable("_ZNSs4_Rep20_S_empty_rep_storageE");
  if (unique == nullptr || ELF64_ST_BIND(unique->st_info) != STB_GNU_UNIQUE) return 0;
  auto& wanted = *static_cast<Wanted*>(data);
  const Elf64_Sym* symbol = object.find_function(wanted.function);
  if (symbol == nullptr) return 0;
  wanted.found = object.address_of(*symbol);
  return 1;
}

}  // namespace

LoadedSymbols::LoadedSymbols(const dl_phdr_info& object) noexcept : base(object.dlpi_addr) {
  const Elf64_Dyn* dynamic = nullptr;
  start = UINTPTR_MAX;
  for (std::size_t i = 0; i < object.dlpi_phnum; ++i) {
    const Elf64_Phdr& segment = object.dlpi_phdr[i];
    const std::uintptr_t from = base + segment.p_vaddr;
    if (segment.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const Elf64_Dyn*>(from);
    if (segment.p_type != PT_LOAD) continue;
    start = from < start ? from : start;
    end = from + segment.p_memsz > end ? from + segment.p_memsz : end;
  }
  if (dynamic == nullptr) return;
  std::size_t relocation_bytes = 0;
  std::size_t linkage_bytes = 0;
  const Elf64_Rela* relocation = nullptr;
  const Elf64_Rela* linkage = nullptr;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    // glibc writes addresses here; musl and the kernel's object leave offsets.
    const std::uintptr_t value = dynamic->d_un.d_ptr;
    auto* place = reinterpret_cast<const void*>(value < base ? base + value : value);
    switch (dynamic->d_tag) {
      case DT_SYMTAB:
        symbols = static_cast<const Elf64_Sym*>(place);
        break;
      case DT_STRTAB:
        strings = static_cast<const char*>(place);
        break;
      case DT_GNU_HASH:
        gnu_hash = static_cast<const std::uint32_t*>(place);
        break;
      case DT_HASH:
        old_hash = static_cast<const std::uint32_t*>(place);
        break;
      case DT_RELA:
        relocation = static_cast<const Elf64_Rela*>(place);
        break;
      case DT_RELASZ:
        relocation_bytes = dynamic->d_un.d_val;
        break;
      case DT_JMPREL:
        linkage = static_cast<const Elf64_Rela*>(place);
        break;
      case DT_PLTRELSZ:
        linkage_bytes = dynamic->d_un.d_val;
        break;
      default:
        break;
    }
  }
  if (symbols == nullptr || strings == nullptr) return;
  if (relocation != nullptr) relocations = {relocation, relocation_bytes / sizeof *relocation};
  if (linkage != nullptr) linkage_relocations = {linkage, linkage_bytes / sizeof *linkage};
}

const Elf64_Sym* LoadedSymbols::find(const char* name, unsigned type) const noexcept {
  if (symbols == nullptr || strings == nullptr) return nullptr;
  if (gnu_hash != nullptr) return find_by_gnu_hash(*this, name, type);
  return old_hash == nullptr ? nullptr : find_by_old_hash(*this, name, type);
}

void* find_in_libstdcxx(const char* function) noexcept {
  Wanted wanted{function};
  dl_iterate_phdr(look_in_libstdcxx, &wanted);
  return wanted.found;
}

}  // namespace heapwright::record
