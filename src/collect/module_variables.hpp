// SPDX-License-Identifier: MIT
// Where an executable file keeps its variables, and their names. Any file may be given.
#pragma once

#include <gelf.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace heapwright::collect {

// Names by address.
class VariableNames {
 public:
  void add(std::uint64_t begin, std::uint64_t end, std::string symbol) {
    variables_.push_back({begin, end, std::move(symbol)});
  }
  std::size_t size() const noexcept { return variables_.size(); }
  // After the last one was added.
  void sort();
  // Demangled; empty: not known.
  std::string at(std::uint64_t address) const;

 private:
  struct Variable {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::string symbol;
  };
  std::vector<Variable> variables_;  // by begin
};

class ModuleVariables {
 public:
  // Empty if the file cannot be read.
  explicit ModuleVariables(const std::string& path);

  // Addresses in the file, as the program would have it without relocation.
  struct Segment {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  const std::vector<Segment>& writable() const noexcept { return writable_; }
  // The address of its first byte.
  std::uint64_t base() const noexcept { return base_; }
  // Of its thread-local variables, alignment included.
  std::uint64_t thread_local_bytes() const noexcept { return thread_local_bytes_; }
  // Of the program itself: where its thread-local variables begin, from the thread pointer on; 0: not known.
  std::int64_t thread_local_begin() const noexcept { return thread_local_begin_; }
  // Without the alignment.
  std::uint64_t thread_local_size() const noexcept { return thread_local_size_; }

  // What the dynamic linker has written for a relocation tells where the thread-local variables are.
  struct LinkedWord {
    enum class Kind : std::uint8_t {
      none,
      offset,  // of the variable at `within`, from the thread pointer on
      number,  // of the module, in each thread's table
    };
    Kind kind = Kind::none;
    std::uint64_t address = 0;  // in the file
    std::int64_t within = 0;
  };
  const LinkedWord& thread_local_word() const noexcept { return thread_local_word_; }

  const VariableNames& names() const noexcept { return names_; }
  const VariableNames& thread_local_names() const noexcept {
    return thread_local_names_;
  }  // from that begin on

 private:
  void read_segment(const GElf_Phdr& header);
  void read_symbols(Elf* elf, Elf_Scn* section, const GElf_Shdr& header);
  void read_relocations(Elf* elf, Elf_Scn* section, const GElf_Shdr& header);

  std::vector<Segment> writable_;
  std::uint64_t base_ = 0;
  std::uint64_t thread_local_bytes_ = 0;
  std::uint64_t thread_local_size_ = 0;
  std::int64_t thread_local_begin_ = 0;
  LinkedWord thread_local_word_;
  VariableNames names_;
  VariableNames thread_local_names_;
};

}  // namespace heapwright::collect
