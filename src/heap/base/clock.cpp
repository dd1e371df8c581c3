// SPDX-License-Identifier: MIT
#include "heap/base/clock.hpp"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <time.h>

#include <cstring>

#include "platform/raw_syscall.hpp"

namespace heapwright::heap {

namespace {

using ReadClock = int(clockid_t, timespec*);
constinit ReadClock* kernel_clock = nullptr;

#if defined(__aarch64__)
constexpr char clock_name[] = "__kernel_clock_gettime";
#else
constexpr char clock_name[] = "__vdso_clock_gettime";
#endif

// The vDSO that the kernel maps into every process: one loaded segment with the whole file.
struct KernelObject {
  const char* begin;
  std::size_t bytes;
  std::uintptr_t bias;
  const ElfW(Dyn) * dynamic;

  explicit KernelObject(const char* start) noexcept : begin(start), bytes(0), bias(0), dynamic(nullptr) {
    const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(start);
    const auto* segments = reinterpret_cast<const ElfW(Phdr)*>(start + header->e_phoff);
    for (int i = 0; i < header->e_phnum; ++i) {
      if (segments[i].p_type == PT_LOAD) {
        bytes = segments[i].p_memsz;
        bias = reinterpret_cast<std::uintptr_t>(start) - segments[i].p_vaddr + segments[i].p_offset;
      } else if (segments[i].p_type == PT_DYNAMIC) {
        dynamic = reinterpret_cast<const ElfW(Dyn)*>(start + segments[i].p_offset);
      }
    }
  }
  std::uintptr_t address_of(ElfW(Sxword) tag) const noexcept {
    for (const ElfW(Dyn)* entry = dynamic; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == tag) return bias + entry->d_un.d_ptr;
    }
    return 0;
  }
  bool has(std::uintptr_t address) const noexcept {
    return address - reinterpret_cast<std::uintptr_t>(begin) < bytes;
  }
};

ReadClock* find_in(const KernelObject& object) noexcept {
  if (object.dynamic == nullptr) return nullptr;
  // The string table follows the symbol table, which has no length field.
  const std::uintptr_t names = object.address_of(DT_STRTAB);
  std::uintptr_t at = object.address_of(DT_SYMTAB);
  if (!object.has(names) || !object.has(at)) return nullptr;
  for (; at + sizeof(ElfW(Sym)) <= names; at += sizeof(ElfW(Sym))) {
    const auto* symbol = reinterpret_cast<const ElfW(Sym)*>(at);
    if (symbol->st_shndx == SHN_UNDEF || !object.has(names + symbol->st_name)) continue;
    if (std::strcmp(reinterpret_cast<const char*>(names + symbol->st_name), clock_name) != 0) continue;
    return reinterpret_cast<ReadClock*>(object.bias + symbol->st_value);
  }
  return nullptr;
}

std::uint64_t read(clockid_t clock) noexcept {
  timespec now{};
  if (kernel_clock == nullptr || kernel_clock(clock, &now) != 0) {
    platform::raw_syscall(SYS_clock_gettime, clock, platform::raw_argument(&now));
  }
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

void find_clock() noexcept {
  const auto* start = reinterpret_cast<const char*>(getauxval(AT_SYSINFO_EHDR));
  if (start != nullptr) kernel_clock = find_in(KernelObject(start));
}

std::uint64_t monotonic_ns() noexcept { return read(CLOCK_MONOTONIC); }
std::uint64_t coarse_ns() noexcept { return read(CLOCK_MONOTONIC_COARSE); }

}  // namespace heapwright::heap
