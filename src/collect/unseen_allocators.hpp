// SPDX-License-Identifier: MIT
// Which allocators in a recorded process the hooks cannot see, by the symbols
// of its files. One without symbols cannot be distinguished from other code.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "collect/elf_facts.hpp"
#include "session/layout.hpp"

namespace heapwright::collect {

// What is not seen of a program or library with these facts, as one line;
// empty: nothing known.
std::string unseen_in(const std::string& path, const ElfFacts& facts, bool is_program);

class UnseenAllocators {
 public:
  // Looks at the executable and every loaded object that the recorder knows.
  // A file that cannot be read says nothing. Each file is read once.
  std::vector<std::string> of(const session::ProcessBlock& block);

 private:
  const std::string& line_of(const std::string& path, bool is_program);

  std::map<std::string, std::string> known_;
};

}  // namespace heapwright::collect
