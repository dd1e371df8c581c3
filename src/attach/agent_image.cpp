// SPDX-License-Identifier: MIT
#include "attach/agent_image.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "attach/refusal.hpp"

asm(".section .rodata\n"
    ".balign 16\n"
    ".hidden heapwright_agent_file\n"
    ".globl heapwright_agent_file\n"
    "heapwright_agent_file:\n"
    ".incbin \"" HEAPWRIGHT_AGENT_FILE
    "\"\n"
    ".hidden heapwright_agent_file_end\n"
    ".globl heapwright_agent_file_end\n"
    "heapwright_agent_file_end:\n"
    ".byte 0\n"
    ".previous\n");

extern "C" const std::uint8_t heapwright_agent_file[];
extern "C" const std::uint8_t heapwright_agent_file_end[];

namespace heapwright::attach {
namespace {

constexpr std::uint64_t page_bytes = 4096;

std::uint64_t page_up(std::uint64_t value) { return (value + page_bytes - 1) & ~(page_bytes - 1); }

// A table of the file, as what it holds.
template <typename Row>
std::span<const Row> rows(std::uint64_t offset, std::uint64_t count) {
  return {reinterpret_cast<const Row*>(heapwright_agent_file + offset), count};
}

const Elf64_Ehdr& header() { return rows<Elf64_Ehdr>(0, 1)[0]; }

std::span<const Elf64_Phdr> segments() { return rows<Elf64_Phdr>(header().e_phoff, header().e_phnum); }

std::span<const Elf64_Shdr> sections() { return rows<Elf64_Shdr>(header().e_shoff, header().e_shnum); }

std::uint64_t symbol_offset(std::string_view wanted) {
  for (const Elf64_Shdr& section : sections()) {
    if (section.sh_type != SHT_DYNSYM) continue;
    const auto* names =
        reinterpret_cast<const char*>(heapwright_agent_file + sections()[section.sh_link].sh_offset);
    for (const Elf64_Sym& symbol : rows<Elf64_Sym>(section.sh_offset, section.sh_size / sizeof(Elf64_Sym))) {
      if (wanted == names + symbol.st_name) return symbol.st_value;
    }
  }
  throw Refusal("this program is damaged: its agent has no " + std::string(wanted) + "; install it again");
}

std::uint64_t checksum_of(std::span<const std::uint8_t> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const std::uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3ULL;
  return hash;
}

}  // namespace

AgentImage::AgentImage()
    : agent_offset_(symbol_offset("heapwright_agent")),
      threads_offset_(symbol_offset("heapwright_agent_threads")),
      hooks_offset_(symbol_offset("heapwright_agent_hooks")),
      checksum_(checksum_of({heapwright_agent_file, heapwright_agent_file_end})) {
  data_offset_ = UINT64_MAX;
  for (const Elf64_Phdr& segment : segments()) {
    if (segment.p_type != PT_LOAD) continue;
    bytes_ = std::max(bytes_, page_up(segment.p_vaddr + segment.p_memsz));
    const bool is_data = (segment.p_flags & PF_W) != 0;
    if (is_data) data_offset_ = std::min<std::uint64_t>(data_offset_, segment.p_vaddr & ~(page_bytes - 1));
  }
}

std::vector<std::uint8_t> AgentImage::placed_at(std::uint64_t base) const {
  std::vector<std::uint8_t> image;
  for (const Elf64_Phdr& segment : segments()) {
    if (segment.p_type != PT_LOAD) continue;
    image.resize(std::max(image.size(), static_cast<std::size_t>(segment.p_vaddr + segment.p_filesz)));
    std::memcpy(image.data() + segment.p_vaddr, heapwright_agent_file + segment.p_offset, segment.p_filesz);
  }
  for (const Elf64_Shdr& section : sections()) {
    if (section.sh_type != SHT_RELA) continue;
    for (const auto& row : rows<Elf64_Rela>(section.sh_offset, section.sh_size / sizeof(Elf64_Rela))) {
      if (ELF64_R_TYPE(row.r_info) != R_X86_64_RELATIVE || row.r_offset + sizeof base > image.size()) {
        throw Refusal("this program is damaged: its agent refers to other code; install it again");
      }
      const std::uint64_t value = base + static_cast<std::uint64_t>(row.r_addend);
      std::memcpy(image.data() + row.r_offset, &value, sizeof value);
    }
  }
  return image;
}

std::uint64_t AgentImage::hook(agent::Entry entry, std::uint64_t base) const {
  const auto placed = placed_at(base);
  const std::uint64_t at = hooks_offset_ + agent::index_of(entry) * sizeof(std::uint64_t);
  std::uint64_t hook = 0;
  if (at + sizeof hook <= placed.size()) std::memcpy(&hook, placed.data() + at, sizeof hook);
  return hook;
}

}  // namespace heapwright::attach
