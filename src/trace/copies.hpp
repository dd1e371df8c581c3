// SPDX-License-Identifier: MIT
// Copies of a trace with modified names: with the names of its frames embedded, or anonymized.
//
// Both write `path`, which must not exist, with mode 0600, and return 0 or errno; an incomplete file is left
// to the caller. on_progress may throw, which aborts the copy.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trace/names.hpp"
#include "trace/reader.hpp"

namespace heapwright::trace {

using CopyProgress = std::function<void(std::uint64_t done, std::uint64_t all)>;

// Copies the file unchanged, chunk by chunk including damage, after chunks of names. A file without a valid
// index gets none, so that what is missing remains visible in the copy. Names already in the trace stay, and
// `names` is then ignored.
int write_named_copy(const Reader& reader, const EmbeddedNames& names, const std::string& path,
                     const CopyProgress& on_progress);

// Replacements for a trace's names and code addresses.
struct Replacements {
  Metadata metadata;
  std::vector<std::string> module_paths;  // by module, as the two that follow
  std::vector<std::string> build_ids;
  std::vector<std::string> thread_names;          // by thread
  std::vector<std::uint64_t> pcs;                 // by frame; relative to the start of the frame's module
  std::function<std::string(std::string)> named;  // the replacement for a mapping's name
  std::function<std::string(std::string)> said;   // the replacement for a name given by the program
};

// Writes everything that a reader understands of the trace anew, so that the file contains nothing else.
// Throws TraceError if the trace is damaged or has no end.
int write_unnamed_copy(const Reader& reader, const EmbeddedNames& names, const Replacements& replacements,
                       const std::string& path, const CopyProgress& on_progress);

}  // namespace heapwright::trace
