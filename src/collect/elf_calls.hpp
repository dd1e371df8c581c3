// SPDX-License-Identifier: MIT
// Which functions of a program file call another library's malloc: a wrapper's calls are recorded, an
// allocator's are not.
#pragma once

#include <gelf.h>
#include <libelf.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace heapwright::collect {

class ElfCalls {
 public:
  ElfCalls(Elf* elf, int file);

  // The function at this address in the file.
  bool calls_malloc(std::uint64_t address, std::uint64_t bytes) const;

 private:
  void add_relocations(Elf* elf, Elf_Scn* section, const GElf_Shdr& header);
  std::string read(std::uint64_t address, std::uint64_t bytes) const;
  bool is_malloc_slot(std::uint64_t address, const std::string& code, std::size_t at) const;

  int file_;
  std::vector<GElf_Phdr> segments_;
  std::set<std::uint64_t> slots_;  // addresses of pointers to malloc and its relatives
};

}  // namespace heapwright::collect
