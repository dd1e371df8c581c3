// SPDX-License-Identifier: MIT
#include "attach/agent_image.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "attach/refusal.hpp"
#include "counters/calls_section.hpp"

#define HEAPWRIGHT_CARRY(name, path)    \
  asm(".section .rodata\n"              \
      ".balign 16\n"                    \
      ".hidden " #name                  \
      "\n"                              \
      ".globl " #name "\n" #name        \
      ":\n"                             \
      ".incbin \"" path                 \
      "\"\n"                            \
      ".hidden " #name                  \
      "_end\n"                          \
      ".globl " #name "_end\n" #name    \
      "_end:\n"                         \
      ".byte 0\n"                       \
      ".previous\n");                   \
  extern "C" const std::uint8_t name[]; \
  extern "C" const std::uint8_t name##_end[];

HEAPWRIGHT_CARRY(heapwright_counting_agent_file, HEAPWRIGHT_COUNTING_AGENT_FILE)
HEAPWRIGHT_CARRY(heapwright_recording_agent_file, HEAPWRIGHT_RECORDING_AGENT_FILE)

namespace heapwright::attach {
namespace {

constexpr std::uint64_t page_bytes = 4096;

std::uint64_t page_up(std::uint64_t value) { return (value + page_bytes - 1) & ~(page_bytes - 1); }

std::span<const std::uint8_t> file_of(AgentKind kind) {
  if (kind == AgentKind::counting) {
    return {heapwright_counting_agent_file, heapwright_counting_agent_file_end};
  }
  return {heapwright_recording_agent_file, heapwright_recording_agent_file_end};
}

std::uint64_t checksum_of(std::span<const std::uint8_t> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const std::uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3ULL;
  return hash;
}

const Elf64_Ehdr& header_of(std::span<const std::uint8_t> file) {
  return *reinterpret_cast<const Elf64_Ehdr*>(file.data());
}

}  // namespace

// A table of the file, as an array of its rows.
template <typename Row>
std::span<const Row> AgentImage::rows(std::uint64_t offset, std::uint64_t count) const {
  return {reinterpret_cast<const Row*>(file_.data() + offset), count};
}

AgentImage::Place AgentImage::find(std::string_view wanted) const {
  const Elf64_Ehdr& header = header_of(file_);
  const auto sections = rows<Elf64_Shdr>(header.e_shoff, header.e_shnum);
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM) continue;
    const auto* names = reinterpret_cast<const char*>(file_.data() + sections[section.sh_link].sh_offset);
    for (const Elf64_Sym& symbol : rows<Elf64_Sym>(section.sh_offset, section.sh_size / sizeof(Elf64_Sym))) {
      if (wanted == names + symbol.st_name) return {symbol.st_value, symbol.st_size};
    }
  }
  throw Refusal("this program is damaged: its agent has no " + std::string(wanted) + "; install it again");
}

AgentImage::AgentImage(AgentKind kind)
    : kind_(kind),
      file_(file_of(kind)),
      agent_offset_(find("heapwright_agent").offset),
      threads_(find("heapwright_agent_threads")),
      hooks_offset_(find("heapwright_agent_hooks").offset),
      checksum_(checksum_of(file_)) {
  if (kind == AgentKind::recording) frames_offset_ = find("heapwright_agent_frames").offset;
  data_offset_ = UINT64_MAX;
  const Elf64_Ehdr& header = header_of(file_);
  for (const Elf64_Phdr& segment : rows<Elf64_Phdr>(header.e_phoff, header.e_phnum)) {
    if (segment.p_type != PT_LOAD) continue;
    bytes_ = std::max(bytes_, page_up(segment.p_vaddr + segment.p_memsz));
    const bool is_data = (segment.p_flags & PF_W) != 0;
    if (is_data) data_offset_ = std::min<std::uint64_t>(data_offset_, segment.p_vaddr & ~(page_bytes - 1));
  }
}

std::vector<std::uint8_t> AgentImage::placed_at(std::uint64_t base) const {
  std::vector<std::uint8_t> image;
  const Elf64_Ehdr& header = header_of(file_);
  for (const Elf64_Phdr& segment : rows<Elf64_Phdr>(header.e_phoff, header.e_phnum)) {
    if (segment.p_type != PT_LOAD) continue;
    image.resize(std::max(image.size(), static_cast<std::size_t>(segment.p_vaddr + segment.p_filesz)));
    std::memcpy(image.data() + segment.p_vaddr, file_.data() + segment.p_offset, segment.p_filesz);
  }
  for (const Elf64_Shdr& section : rows<Elf64_Shdr>(header.e_shoff, header.e_shnum)) {
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

std::uint64_t AgentImage::tail_bytes() const noexcept {
  return kind_ == AgentKind::counting ? sizeof(counters::CallsPage) : 0;
}

std::uint64_t AgentImage::hook(agent::Entry entry, bool is_second, std::uint64_t base) const {
  const auto placed = placed_at(base);
  const std::size_t index = (is_second ? agent::entry_count : 0) + agent::index_of(entry);
  const std::uint64_t at = hooks_offset_ + index * sizeof(std::uint64_t);
  std::uint64_t hook = 0;
  if (at + sizeof hook <= placed.size()) std::memcpy(&hook, placed.data() + at, sizeof hook);
  return hook;
}

}  // namespace heapwright::attach
