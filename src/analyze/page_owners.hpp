// SPDX-License-Identifier: MIT
// The owner of a page without blocks, from the mappings of a scan and other facts of the trace: loaded
// objects, threads' stacks, the program's own mmap calls. The kernel merges neighbouring anonymous mappings
// of different owners, so each page is looked up.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "order/source.hpp"
#include "trace/residency.hpp"

namespace heapwright::analyze {

// A range that the program mapped itself.
struct OwnRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint32_t stack = 0;
};

enum class OwnerKind : std::uint8_t {
  heap,  // the C library's [heap]
  program,
  library,
  main_stack,
  thread_stack,  // including the thread's TLS, which the C library puts at its top
  own_mapping,
  recorder,
  file,
  shared_memory,
  other,      // of the kernel, or named by the program
  anonymous,  // no name, no known owner: a heap, if blocks are in its mapping
};

const char* name_of(OwnerKind kind) noexcept;

struct PageOwner {
  OwnerKind kind = OwnerKind::anonymous;
  std::uint32_t stack = 0;  // that mapped it: for own_mapping, and for shared memory without a name
  std::string_view name;    // valid as long as the PageOwners
  std::uint64_t begin = 0;  // of the mapping
  std::uint64_t end = 0;

  std::uint64_t own_begin = 0;  // for own_mapping: of the program's range

  // For anonymous: a guard page is below it, as below a thread's stack.
  bool has_guard = false;

  bool operator==(const PageOwner&) const = default;
};

class PageOwners {
 public:
  // own: by address.
  PageOwners(const order::Source& source, std::vector<trace::Mapping> mappings, std::vector<OwnRange> own,
             std::uint64_t time_ns);

  // The owner of the page at `address`, and where the next owner may begin.
  PageOwner at(std::uint64_t address, std::uint64_t& until) const;
  const std::vector<trace::Mapping>& mappings() const noexcept { return mappings_; }
  // By address.
  const std::vector<OwnRange>& own() const noexcept { return own_; }

 private:
  OwnerKind kind_of(const trace::Mapping& mapping) const;
  std::string_view library_name(const trace::Mapping& anonymous, const trace::Module& module) const;
  PageOwner of_anonymous(const trace::Mapping& mapping, std::uint64_t address, std::uint64_t& until) const;

  std::vector<trace::Mapping> mappings_;
  std::vector<OwnerKind> kinds_;  // of mappings_, by their names
  std::vector<OwnRange> own_;
  std::vector<trace::Module> modules_;           // loaded at that time, by start
  std::map<std::uint64_t, std::string> stacks_;  // of live threads: an address on it, and its owner
  std::unordered_set<std::string> paths_;        // of modules_
  std::string program_;
};

}  // namespace heapwright::analyze
