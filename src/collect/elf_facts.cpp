// SPDX-License-Identifier: MIT
#include "collect/elf_facts.hpp"

#include <elf.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string_view>

namespace heapwright::collect {
namespace {

struct Mark {
  std::string_view symbol;
  std::string_view meaning;
};

// Initialisers of the sanitizer run-time libraries, linked in or imported.
constexpr Mark sanitizer_symbols[] = {
    {"__asan_init", "AddressSanitizer"}, {"__tsan_init", "ThreadSanitizer"},
    {"__msan_init", "MemorySanitizer"},  {"__hwasan_init", "HWAddressSanitizer"},
    {"__memprof_init", "MemProf"},
};
constexpr Mark sanitizer_libraries[] = {
    {"libasan.so", "AddressSanitizer"},           {"libtsan.so", "ThreadSanitizer"},
    {"libhwasan.so", "HWAddressSanitizer"},       {"libclang_rt.asan", "AddressSanitizer"},
    {"libclang_rt.tsan", "ThreadSanitizer"},      {"libclang_rt.msan", "MemorySanitizer"},
    {"libclang_rt.hwasan", "HWAddressSanitizer"},
};
// Symbols that only the allocator's own code defines.
constexpr Mark allocator_symbols[] = {
    {"_rjem_malloc", "jemalloc"},  {"_rjem_je_malloc", "jemalloc"},
    {"je_malloc", "jemalloc"},     {"je_malloc_conf", "jemalloc"},
    {"rallocx", "jemalloc"},       {"_rjem_mallocx", "jemalloc"},
    {"mi_malloc", "mimalloc"},     {"mi_heap_malloc", "mimalloc"},
    {"tc_malloc", "tcmalloc"},     {"TCMallocInternalMalloc", "tcmalloc"},
    {"rpmalloc", "rpmalloc"},      {"sn_malloc", "snmalloc"},
    {"sn_rust_alloc", "snmalloc"}, {"scalable_malloc", "tbbmalloc"},
};

using ElfHandle = std::unique_ptr<Elf, int (*)(Elf*)>;

template <std::size_t count>
std::string meaning_of(const Mark (&marks)[count], std::string_view symbol) {
  for (const Mark& mark : marks) {
    if (symbol == mark.symbol) return std::string(mark.meaning);
  }
  return "";
}

void inspect_symbol(std::string_view name, const GElf_Sym& symbol, ElfFacts& facts) {
  // A weak reference only tests for a sanitizer, as exit_policy.hpp does; the program has none.
  if (symbol.st_shndx == SHN_UNDEF && GELF_ST_BIND(symbol.st_info) == STB_WEAK) return;
  if (facts.sanitizer.empty()) facts.sanitizer = meaning_of(sanitizer_symbols, name);
  if (symbol.st_shndx == SHN_UNDEF) return;
  if (name == "malloc" && GELF_ST_TYPE(symbol.st_info) == STT_FUNC) facts.defines_malloc = true;
  if (name == "heapwright_thread_heap_calls") facts.passes_malloc_on = true;  // detail/heap_hook.hpp
  if (facts.own_allocator.empty()) facts.own_allocator = meaning_of(allocator_symbols, name);
}

// libelf checks sections and string offsets against the actual file size.
void inspect_symbols(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, ElfFacts& facts) {
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const std::size_t count = data->d_size / header.sh_entsize;
  for (std::size_t index = 0; index < count && index < 0x7fffffff; ++index) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(index), &symbol) == nullptr) return;
    const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name != nullptr) inspect_symbol(name, symbol, facts);
  }
}

void inspect_dynamic(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, ElfFacts& facts) {
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const std::size_t count = data->d_size / header.sh_entsize;
  for (std::size_t index = 0; index < count && index < 0x7fffffff; ++index) {
    GElf_Dyn entry;
    if (gelf_getdyn(data, static_cast<int>(index), &entry) == nullptr || entry.d_tag == DT_NULL) return;
    const char* needed =
        entry.d_tag == DT_NEEDED ? elf_strptr(elf, header.sh_link, entry.d_un.d_val) : nullptr;
    if (needed == nullptr) continue;
    for (const Mark& mark : sanitizer_libraries) {
      if (std::string_view(needed).starts_with(mark.symbol)) facts.sanitizer = mark.meaning;
    }
  }
}

void inspect_sections(Elf* elf, ElfFacts& facts) {
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM) {
      inspect_symbols(elf, section, header, facts);
    }
    if (header.sh_type == SHT_DYNAMIC) inspect_dynamic(elf, section, header, facts);
  }
}

void inspect_segments(Elf* elf, int file, ElfFacts& facts) {
  std::size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return;
  for (std::size_t index = 0; index < count && index < 0xffff; ++index) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(index), &header) == nullptr) return;
    if (header.p_type != PT_INTERP) continue;
    char path[4096];
    const std::size_t wanted = header.p_filesz < sizeof path ? header.p_filesz : sizeof path;
    const ssize_t length = pread(file, path, wanted, static_cast<off_t>(header.p_offset));
    if (length > 0) facts.interpreter.assign(path, strnlen(path, static_cast<std::size_t>(length)));
  }
}

}  // namespace

ElfFacts inspect_elf(int file) {
  ElfFacts facts;
  unsigned char identity[EI_NIDENT];
  if (pread(file, identity, sizeof identity, 0) != static_cast<ssize_t>(sizeof identity)) return facts;
  facts.is_elf = std::memcmp(identity, ELFMAG, SELFMAG) == 0;
  if (!facts.is_elf) return facts;
  facts.is_64_bit = identity[EI_CLASS] == ELFCLASS64;
  elf_version(EV_CURRENT);
  const ElfHandle elf(elf_begin(file, ELF_C_READ, nullptr), elf_end);
  GElf_Ehdr header;
  if (elf == nullptr || gelf_getehdr(elf.get(), &header) == nullptr) return facts;
  facts.is_readable = header.e_type == ET_EXEC || header.e_type == ET_DYN;
  facts.is_x86_64 = header.e_machine == EM_X86_64;
  if (!facts.is_readable || !facts.is_x86_64 || !facts.is_64_bit) return facts;
  inspect_segments(elf.get(), file, facts);
  inspect_sections(elf.get(), facts);
  return facts;
}

}  // namespace heapwright::collect
