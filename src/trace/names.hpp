// SPDX-License-Identifier: MIT
// Names of frames inside a trace, so that it is read without the program's
// files: the records of chunk kinds `names` and `named_objects`. A recorder
// writes none; `heapwright export --to trace` does.
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

// What was found of a loaded object when its frames were named.
struct NamedObject {
  std::uint32_t module = 0;  // number of the first module that it is
  std::uint32_t source = 0;  // symbolize::SymbolSource
  std::string problem;       // one line when something was missing
};

template <IsRecord<NamedObject> Of, typename Visit>
void fields(Of& of, const Visit& visit) {
  visit("module", of.module);
  visit("source", of.source);
  visit("problem", of.problem);
}

// A frame without locations has no name: all that is known is its place in its object.
struct EmbeddedNames : Names {
  std::vector<NamedObject> objects;
};

// Bounds that keep a hostile file from exhausting memory.
inline constexpr std::uint32_t max_names_bytes = 1U << 27U;  // of all chunks of names, unpacked
inline constexpr std::uint32_t max_named_texts = 1U << 22U;
inline constexpr std::uint32_t max_named_locations = 1U << 23U;
inline constexpr std::uint32_t max_locations_per_frame = 100;

// Appends the names of frames from `first` on, as many as a chunk takes; says how many that were.
std::uint32_t encode_names(const Names& names, std::uint32_t first, std::vector<std::uint8_t>& out);
// The names of `count` frames, numbered from 0. Throws TraceError.
Names decode_names(base::ByteSource source, std::uint32_t count);
// Puts those of the frames from `first` on after what is there. Throws TraceError when they
// go back or are more than any recorder's.
void append_names(Names& all, std::uint64_t first, const Names& part);

}  // namespace heapwright::trace
