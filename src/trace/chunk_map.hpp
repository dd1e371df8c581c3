// SPDX-License-Identifier: MIT
// Where the chunks of a trace file lie: from the index, or by walking the
// file when there is no good index.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace/block.hpp"
#include "trace/damage.hpp"
#include "trace/input_file.hpp"
#include "trace/record_codec.hpp"

namespace heapwright::trace {

// Throws TraceError unless the file begins like a trace this reader reads.
void require_readable(const InputFile& file, const std::string& path);

struct Index {
  std::uint64_t file_offset = 0;  // of its chunk
  std::vector<IndexEntry> entries;
};
// nullopt: there is none that is good.
std::optional<Index> read_index(const InputFile& file);

// In file order, index chunk left out. What is unreadable is added to
// `damage`. Entries lie within the file and do not overlap.
std::vector<IndexEntry> find_chunks(const InputFile& file, std::vector<Damage>& damage);

// Reads the whole chunk into `memory` and returns its payload. Throws
// TraceError unless header and payload are as written and of this kind,
// count, thread and first.
std::span<const std::uint8_t> read_chunk(const InputFile& file, const IndexEntry& entry,
                                         std::vector<std::uint8_t>& memory);

}  // namespace heapwright::trace
