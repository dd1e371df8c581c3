// SPDX-License-Identifier: MIT
#include "collect/elf_facts.hpp"

#include <elf.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <string_view>

#include "collect/allocator_marks.hpp"
#include "collect/elf_calls.hpp"
#include "collect/own_processor.hpp"

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
constexpr std::string_view makers[] = {"malloc",         "calloc",        "realloc",
                                       "posix_memalign", "aligned_alloc", "memalign"};
// glibc's malloc by names of its own.
constexpr std::string_view libcs_own_names[] = {"__libc_malloc", "__libc_calloc", "__libc_realloc",
                                                "__libc_memalign"};
constexpr std::uint64_t most_scanned_bytes = std::uint64_t{1} << 30;
constexpr std::size_t piece_bytes = std::size_t{1} << 18;

using ElfHandle = std::unique_ptr<Elf, int (*)(Elf*)>;

struct Inspection {
  ElfFacts& facts;
  AllocatorMarks marks;
  ElfCalls calls;
  bool has_go_section = false;
};

template <std::size_t count>
std::string meaning_of(const Mark (&marks)[count], std::string_view symbol) {
  for (const Mark& mark : marks) {
    if (symbol == mark.symbol) return std::string(mark.meaning);
  }
  return "";
}

void inspect_symbol(std::string_view name, const GElf_Sym& symbol, Inspection& found) {
  ElfFacts& facts = found.facts;
  // A weak reference only tests for a sanitizer, as exit_policy.hpp does; the program has none.
  if (symbol.st_shndx == SHN_UNDEF && GELF_ST_BIND(symbol.st_info) == STB_WEAK) return;
  if (facts.sanitizer.empty()) facts.sanitizer = meaning_of(sanitizer_symbols, name);
  if (symbol.st_shndx == SHN_UNDEF) {
    facts.imports_malloc |= std::find(std::begin(makers), std::end(makers), name) != std::end(makers);
    facts.imports_operators |= name.starts_with("_Znw") || name.starts_with("_Zna");
    facts.imports_libcs_own |=
        std::find(std::begin(libcs_own_names), std::end(libcs_own_names), name) != std::end(libcs_own_names);
    return;
  }
  const bool is_function = GELF_ST_TYPE(symbol.st_info) == STT_FUNC;
  if (name == "malloc" && is_function) {
    facts.defines_malloc = true;
    const auto visibility = GELF_ST_VISIBILITY(symbol.st_other);
    const bool is_hidden = visibility == STV_HIDDEN || visibility == STV_INTERNAL;
    facts.hides_malloc |= is_hidden || GELF_ST_BIND(symbol.st_info) == STB_LOCAL;
  }
  if (name == "heapwright_thread_heap_calls") facts.passes_malloc_on = true;  // detail/heap_hook.hpp
  if (name.find("__rust_alloc") != name.npos) facts.has_rust_allocator = true;
  const bool is_wrapper = is_function && AllocatorMarks::is_public_name(name) &&
                          found.calls.calls_malloc(symbol.st_value, symbol.st_size);
  found.marks.see_definition(name, is_wrapper);
}

// libelf checks sections and string offsets against the actual file size.
void inspect_symbols(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, Inspection& found) {
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const std::size_t count = data->d_size / header.sh_entsize;
  for (std::size_t index = 0; index < count && index < 0x7fffffff; ++index) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(index), &symbol) == nullptr) return;
    const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name != nullptr) inspect_symbol(name, symbol, found);
  }
}

void inspect_dynamic(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, ElfFacts& facts) {
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const std::size_t count = data->d_size / header.sh_entsize;
  for (std::size_t index = 0; index < count && index < 0x7fffffff; ++index) {
    GElf_Dyn entry;
    if (gelf_getdyn(data, static_cast<int>(index), &entry) == nullptr || entry.d_tag == DT_NULL) return;
    if (entry.d_tag == DT_SONAME) {
      const char* const name = elf_strptr(elf, header.sh_link, entry.d_un.d_val);
      facts.library_name = name != nullptr ? name : "";
    }
    const char* needed =
        entry.d_tag == DT_NEEDED ? elf_strptr(elf, header.sh_link, entry.d_un.d_val) : nullptr;
    if (needed == nullptr) continue;
    for (const Mark& mark : sanitizer_libraries) {
      if (std::string_view(needed).starts_with(mark.symbol)) facts.sanitizer = mark.meaning;
    }
  }
}

void inspect_sections(Elf* elf, Inspection& found) {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    if (header.sh_type == SHT_SYMTAB) found.facts.is_stripped = false;
    if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM) {
      inspect_symbols(elf, section, header, found);
    }
    const char* const name = elf_strptr(elf, names, header.sh_name);
    found.has_go_section |= name != nullptr && std::string_view(name) == ".gopclntab";
    if (header.sh_type == SHT_DYNAMIC) inspect_dynamic(elf, section, header, found.facts);
  }
}

// Constants, wherever the linker put them.
void inspect_texts(int file, const GElf_Phdr& segment, AllocatorMarks& marks) {
  std::string piece(piece_bytes, '\0');
  const std::uint64_t end = segment.p_offset + std::min<std::uint64_t>(segment.p_filesz, most_scanned_bytes);
  for (std::uint64_t at = segment.p_offset; at < end; at += piece_bytes - AllocatorMarks::overlap) {
    const std::size_t wanted = std::min<std::uint64_t>(piece_bytes, end - at);
    const ssize_t length = pread(file, piece.data(), wanted, static_cast<off_t>(at));
    if (length <= 0) return;
    marks.see_bytes(std::string_view(piece).substr(0, static_cast<std::size_t>(length)));
  }
}

void inspect_segments(Elf* elf, int file, Inspection& found) {
  std::size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return;
  for (std::size_t index = 0; index < count && index < 0xffff; ++index) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(index), &header) == nullptr) return;
    if (header.p_type == PT_LOAD && (header.p_flags & PF_W) == 0) inspect_texts(file, header, found.marks);
    if (header.p_type != PT_INTERP) continue;
    char path[4096];
    const std::size_t wanted = header.p_filesz < sizeof path ? header.p_filesz : sizeof path;
    const ssize_t length = pread(file, path, wanted, static_cast<off_t>(header.p_offset));
    if (length > 0) found.facts.interpreter.assign(path, strnlen(path, static_cast<std::size_t>(length)));
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
  facts.is_of_own_processor = header.e_machine == own_machine;
  if (!facts.is_readable || !facts.is_of_own_processor || !facts.is_64_bit) return facts;
  Inspection found{facts, {}, ElfCalls(elf.get(), file), false};
  inspect_segments(elf.get(), file, found);
  inspect_sections(elf.get(), found);
  facts.own_allocator = found.marks.allocator();
  facts.runtime = found.has_go_section ? "Go" : found.marks.runtime();
  return facts;
}

}  // namespace heapwright::collect
