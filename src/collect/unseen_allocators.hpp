// SPDX-License-Identifier: MIT
// Allocators in a recorded process that the hooks cannot see, found in its files. A stripped allocator
// without texts of its own cannot be told from other code.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "collect/elf_facts.hpp"
#include "session/layout.hpp"

namespace heapwright::collect {

enum class Role : std::uint8_t {
  program,           // the recorder is preloaded: a malloc of the program's own comes before it
  attached_program,  // the malloc that the process uses is patched, wherever it is
  patched_program,   // so is the allocator in the program
  library,
};

// One line about what is not seen in a program or library with these facts; empty: nothing known.
std::string unseen_in(const std::string& path, const ElfFacts& facts, Role role);
// Whether there is an allocator inside the program that heapwright-attach knows: then --patch sees more than
// a preloaded recorder.
bool has_inner_allocator(const std::string& path, const ElfFacts& facts);
// One line about blocks that are no malloc's, though all calls of malloc are seen; empty: nothing known.
// conditions: of the trace's metadata, with the settings that turn such a heap off.
std::string kept_inside(const std::string& path, const ElfFacts& facts,
                        const std::vector<std::string>& conditions);

class UnseenAllocators {
 public:
  struct Found {
    std::vector<std::string> unseen;
    std::vector<std::string> notes;
    std::string runtime;  // "Python", ...; empty: none
  };
  // Examines the executable, every loaded object that the recorder knows, and other files whose code the
  // process had mapped. Unreadable files are skipped. Each file is read once.
  Found of(const session::ProcessBlock& block, const std::set<std::string>& code_files,
           const std::vector<std::string>& conditions);

 private:
  const ElfFacts& facts_of(const std::string& path);

  std::map<std::string, ElfFacts> known_;
};

}  // namespace heapwright::collect
