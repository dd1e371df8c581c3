// SPDX-License-Identifier: MIT
#include "record/own_name_bindings.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstring>

#include "platform/raw_syscall.hpp"
#include "record/loaded_symbols.hpp"
#include "record/own_names.hpp"
#include "record/python.hpp"

namespace heapwright::record {
namespace {

using platform::raw_syscall;

#if defined(__aarch64__)
constexpr auto jump_slot = R_AARCH64_JUMP_SLOT;
constexpr auto global_data = R_AARCH64_GLOB_DAT;
constexpr auto absolute = R_AARCH64_ABS64;
#else
constexpr auto jump_slot = R_X86_64_JUMP_SLOT;
constexpr auto global_data = R_X86_64_GLOB_DAT;
constexpr auto absolute = R_X86_64_64;
#endif

constexpr std::uintptr_t page_mask = ~std::uintptr_t{4095};

// State at the last look: the loader's counts of objects loaded and unloaded.
struct Seen {
  unsigned long long added = 0;
  unsigned long long removed = 0;
  std::size_t objects = 0;
};
constinit Seen seen;

struct Look {
  Seen now;
  std::size_t index = 0;
  bool has_bound = false;
};

bool is_own(const LoadedSymbols& object) noexcept {
  const auto here = reinterpret_cast<std::uintptr_t>(&seen);
  return here >= object.start && here < object.end;
}

int protection_of(const dl_phdr_info& info, std::uintptr_t address) noexcept {
  for (std::size_t i = 0; i < info.dlpi_phnum; ++i) {
    const Elf64_Phdr& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || address - (info.dlpi_addr + segment.p_vaddr) >= segment.p_memsz) {
      continue;
    }
    return ((segment.p_flags & PF_R) != 0 ? PROT_READ : 0) |
           ((segment.p_flags & PF_W) != 0 ? PROT_WRITE : 0) | ((segment.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
  }
  return PROT_READ;
}

bool protect(std::uintptr_t address, int protection) noexcept {
  return raw_syscall(SYS_mprotect, static_cast<long>(address & page_mask), static_cast<long>(~page_mask + 1),
                     protection) == 0;
}

// From now on the loader, including dlsym, finds the hook in the object.
bool point_symbol(const dl_phdr_info& info, const Elf64_Sym& symbol, void* hook) noexcept {
  auto& value = const_cast<Elf64_Addr&>(symbol.st_value);
  const auto place = reinterpret_cast<std::uintptr_t>(&value);
  const int protection = protection_of(info, place);
  if (!protect(place, protection | PROT_WRITE)) return false;
  __atomic_store_n(&value, reinterpret_cast<std::uintptr_t>(hook) - info.dlpi_addr, __ATOMIC_RELEASE);
  if ((protection & PROT_WRITE) == 0) protect(place, protection);
  return true;
}

bool bind_family(const dl_phdr_info& info, const LoadedSymbols& object, Family family) noexcept {
  FamilyFacts& facts = families[static_cast<std::size_t>(family)];
  const Elf64_Sym* anchor = object.find_function(facts.anchor);
  if (anchor == nullptr) return false;
  // A second copy, after the one that is found first, is left unchanged.
  if (facts.is_seen) return false;
  facts.is_seen = true;
  const Elf64_Sym* usable = object.find_function(facts.usable_name);
  facts.usable = usable == nullptr ? nullptr : reinterpret_cast<UsableFunction>(object.address_of(*usable));
  facts.base = object.base;
  facts.code_start = object.start;
  facts.code_end = object.end;
  bool has_bound = false;
  for (const OwnName& own : own_names()) {
    if (own.family != family) continue;
    const Elf64_Sym* symbol = object.find_function(own.name);
    if (symbol == nullptr) continue;
    void* address = object.address_of(*symbol);
    void* hook = own.hook();
    if (address == hook) continue;  // bound by an earlier look
    __atomic_store_n(own.next, address, __ATOMIC_RELEASE);
    has_bound |= point_symbol(info, *symbol, hook);
  }
  return has_bound;
}

int look_for_families(dl_phdr_info* info, std::size_t, void* data) noexcept {
  Look& look = *static_cast<Look*>(data);
  if (look.index == 0) {
    look.now = {info->dlpi_adds, info->dlpi_subs, 0};
    if (look.now.added == seen.added && look.now.removed == seen.removed) return 1;
    if (look.now.removed != seen.removed) {
      for (FamilyFacts& facts : families) facts.is_seen = false;
    }
  }
  // New objects come last: if none was unloaded, the first ones are the same.
  const bool is_known = look.now.removed == seen.removed && look.index < seen.objects;
  look.now.objects = ++look.index;
  if (is_known) return 0;
  const LoadedSymbols object(*info);
  if (is_own(object)) return 0;
  note_interpreter(object);
  for (std::size_t family = 0; family < family_count; ++family) {
    look.has_bound |= bind_family(*info, object, static_cast<Family>(family));
  }
  return 0;
}

const OwnName* find_own_name(const char* name) noexcept {
  const bool may_be = std::strncmp(name, "mi_", 3) == 0 || std::strncmp(name, "je_", 3) == 0 ||
                      std::strncmp(name, "tc_", 3) == 0 || std::strstr(name, "allocx") != nullptr;
  if (!may_be) return nullptr;
  for (const OwnName& own : own_names()) {
    if (std::strcmp(own.name, name) == 0) return &own;
  }
  return nullptr;
}

// An entry that the loader has already bound. Its page stays writable: protecting it again could break a
// loader that is still working on this object.
void point_entries(const LoadedSymbols& object, std::span<const Elf64_Rela> relocations) noexcept {
  for (const Elf64_Rela& relocation : relocations) {
    const auto type = ELF64_R_TYPE(relocation.r_info);
    if (type != jump_slot && type != global_data && type != absolute) continue;
    const OwnName* own =
        find_own_name(object.strings + object.symbols[ELF64_R_SYM(relocation.r_info)].st_name);
    if (own == nullptr || *own->next == nullptr) continue;
    auto* entry = reinterpret_cast<void**>(object.base + relocation.r_offset);
    if (__atomic_load_n(entry, __ATOMIC_RELAXED) != *own->next) continue;
    if (!protect(reinterpret_cast<std::uintptr_t>(entry), PROT_READ | PROT_WRITE)) continue;
    __atomic_store_n(entry, own->hook(), __ATOMIC_RELEASE);
  }
}

int point_callers(dl_phdr_info* info, std::size_t, void*) noexcept {
  const LoadedSymbols object(*info);
  if (is_own(object) || is_code_of_own_names(reinterpret_cast<void*>(object.start))) return 0;
  point_entries(object, object.relocations);
  point_entries(object, object.linkage_relocations);
  return 0;
}

int look_for_dlsym(dl_phdr_info* info, std::size_t, void* data) noexcept {
  const LoadedSymbols object(*info);
  const Elf64_Sym* symbol = is_own(object) ? nullptr : object.find_function("dlsym");
  if (symbol == nullptr) return 0;
  *static_cast<void**>(data) = object.address_of(*symbol);
  return 1;
}

}  // namespace

void bind_own_names() noexcept {
  Look look;
  if (dl_iterate_phdr(look_for_families, &look) != 0) return;
  seen = look.now;
  use_interpreter();
  if (look.has_bound) dl_iterate_phdr(point_callers, nullptr);
}

void* find_next_dlsym() noexcept {
  void* found = nullptr;
  dl_iterate_phdr(look_for_dlsym, &found);
  return found;
}

}  // namespace heapwright::record
