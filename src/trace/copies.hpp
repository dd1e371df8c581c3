// SPDX-License-Identifier: MIT
// Copies of a trace that carry the names of its frames inside.
//
// Both write `path`, which must not exist, with mode 0600, and return 0 or
// errno; a file that could not be written to its end is left to the caller.
// on_progress may throw, which ends the copy.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trace/names.hpp"
#include "trace/reader.hpp"

namespace heapwright::trace {

using CopyProgress = std::function<void(std::uint64_t done, std::uint64_t all)>;

// The file as it is, chunk by chunk, damage and all, after chunks of names. A file
// without a good index gets none: what is missing in it is seen in the copy as well.
// Names that the trace has already stay, and `names` is not looked at.
int write_named_copy(const Reader& reader, const EmbeddedNames& names, const std::string& path,
                     const CopyProgress& on_progress);

// What stands in a trace instead of its names and addresses of code.
struct Replacements {
  Metadata metadata;
  std::vector<std::string> module_paths;  // by module, as the two that follow
  std::vector<std::string> build_ids;
  std::vector<std::string> thread_names;          // by thread
  std::vector<std::uint64_t> pcs;                 // by frame; a module's frames count from its start
  std::function<std::string(std::string)> named;  // what a mapping is called instead
  std::function<std::string(std::string)> said;   // and what the program gave a name to
};

// All that a reader understands of the trace, written anew, so that nothing else of it
// is in the file. Throws TraceError when the trace is damaged or has no end.
int write_unnamed_copy(const Reader& reader, const EmbeddedNames& names, const Replacements& replacements,
                       const std::string& path, const CopyProgress& on_progress);

}  // namespace heapwright::trace
