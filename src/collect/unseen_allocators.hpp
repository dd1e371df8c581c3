// SPDX-License-Identifier: MIT
// Allocators in a recorded process that the hooks cannot see, found by the symbols of its files. Without
// symbols, an allocator cannot be told from other code.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "collect/elf_facts.hpp"
#include "session/layout.hpp"

namespace heapwright::collect {

// One line about what is not seen in a program or library with these facts; empty: nothing known.
std::string unseen_in(const std::string& path, const ElfFacts& facts, bool is_program);

class UnseenAllocators {
 public:
  // Examines the executable and every loaded object that the recorder knows. Unreadable files are skipped.
  // Each file is read once.
  std::vector<std::string> of(const session::ProcessBlock& block);

 private:
  const std::string& line_of(const std::string& path, bool is_program);

  std::map<std::string, std::string> known_;
};

}  // namespace heapwright::collect
