// SPDX-License-Identifier: MIT
// Names of frames inside a trace, which make it readable without the program's files: the records of chunk
// kinds `names`, `named_objects` and `allocated_types`. A recorder writes none; `heapwright export --to
// trace` does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/varint.hpp"
#include "trace/records.hpp"

namespace heapwright::trace {

// One source-level frame; strings are indexes into Names::strings.
struct Location {
  std::uint32_t function = 0;
  std::uint32_t file = 0;  // 0 (the empty string) = unknown
  std::uint32_t line = 0;  // 0 = unknown
  std::uint32_t is_inlined = 0;
  bool operator==(const Location&) const = default;
};

struct Names {
  std::vector<std::string> strings;  // [0] is the empty one
  // Locations of frame i: [first_location[i], first_location[i + 1]), the
  // innermost inlined call first.
  std::vector<std::uint32_t> first_location;
  std::vector<Location> locations;
};

// What was found for a loaded object when its frames were named.
struct NamedObject {
  std::uint32_t module = 0;  // number of its first module
  std::uint32_t source = 0;  // symbolize::SymbolSource
  std::string problem;       // one line when something was missing
};

template <IsRecord<NamedObject> Of, typename Visit>
void fields(Of& of, const Visit& visit) {
  visit("module", of.module);
  visit("source", of.source);
  visit("problem", of.problem);
}

// What a frame that called an allocator makes of the block, by the program's debug information.
struct AllocatedType {
  std::uint32_t frame = 0;  // index into frames
  std::string name;         // as people write it
};

template <IsRecord<AllocatedType> Of, typename Visit>
void fields(Of& of, const Visit& visit) {
  visit("frame", of.frame);
  visit("name", of.name);
}

// A frame without locations has no name: only its position in its object is known.
struct EmbeddedNames : Names {
  std::vector<NamedObject> objects;
  std::vector<AllocatedType> types;  // of frames where one is known
};

// Limits that keep a malicious file from exhausting memory.
inline constexpr std::uint32_t max_names_bytes = 1U << 27U;  // of all chunks of names, unpacked
inline constexpr std::uint32_t max_named_texts = 1U << 22U;
inline constexpr std::uint32_t max_named_locations = 1U << 23U;
inline constexpr std::uint32_t max_locations_per_frame = 100;

// Appends the names of frames from `first` on, as many as fit into a chunk; returns their number.
std::uint32_t encode_names(const Names& names, std::uint32_t first, std::vector<std::uint8_t>& out);
// The names of `count` frames, numbered from 0. Throws TraceError.
Names decode_names(base::ByteSource source, std::uint32_t count);
// Appends the names of the frames from `first` on. Throws TraceError if the numbers go back or exceed any
// recorder's.
void append_names(Names& all, std::uint64_t first, const Names& part);

}  // namespace heapwright::trace
