// SPDX-License-Identifier: MIT
// Finds the chunks of a trace file: by the index, or by walking the file if there is no valid index.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace/block.hpp"
#include "trace/damage.hpp"
#include "trace/input_file.hpp"
#include "trace/record_codec.hpp"

namespace heapwright::trace {

// Throws TraceError unless the file begins like a supported trace.
void require_readable(const InputFile& file, const std::string& path);

struct Index {
  std::uint64_t file_offset = 0;  // of its chunk
  std::vector<IndexEntry> entries;
};
// nullopt: there is no valid one.
std::optional<Index> read_index(const InputFile& file);

// In file order, without the index chunk. Unreadable parts are added to `damage`. Entries are within the file
// and do not overlap.
std::vector<IndexEntry> find_chunks(const InputFile& file, std::vector<Damage>& damage);

// Reads the whole chunk into `memory` and returns its payload. Throws TraceError unless header and payload
// are intact and match this kind, count, thread and first.
std::span<const std::uint8_t> read_chunk(const InputFile& file, const IndexEntry& entry,
                                         std::vector<std::uint8_t>& memory);

}  // namespace heapwright::trace
