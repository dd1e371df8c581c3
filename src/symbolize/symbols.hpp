// SPDX-License-Identifier: MIT
// Input and output of symbolizing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "trace/names.hpp"

namespace heapwright::symbolize {

// How much of an object is read. brief: skips objects with debug info, which takes long to read; their frames
// have no locations.
enum class Depth : std::uint8_t { full, brief, none };

struct Options {
  // By module; empty = all in full.
  std::vector<Depth> depths;
  // Searched before the recorded paths: a copy of the recorded machine's file system, or a flat folder of
  // objects. Empty = none.
  std::string debug_root;
  // Folders of separate debug files (<folder>/.build-id/ab/cdef.debug).
  std::vector<std::string> debug_directories = {"/usr/lib/debug"};
  // Names in the trace itself: no files are read. nullptr = it has none.
  const trace::EmbeddedNames* names = nullptr;
  // Frames of Python code, which have their names in the trace; unless `names` has them.
  std::span<const trace::PythonFrame> python_frames;
  // What runtimes call the code of frames in no object, unless `names` has them.
  std::span<const trace::CodeName> code_names;
  // Called after each object with the numbers of processed and of all objects.
  std::function<void(std::size_t, std::size_t)> on_progress;
};

using trace::Location;

// The best source that was found for an object.
enum class SymbolSource : std::uint8_t { none, dynamic_symbols, symbol_table, debug_info };

struct Object {
  std::string path;       // as recorded
  std::string build_id;   // as recorded
  std::string used_file;  // the file that was read; empty = none
  SymbolSource source = SymbolSource::none;
  std::string problem;  // one line when something is missing, else empty
  std::uint64_t frames = 0;
  std::uint64_t unnamed = 0;  // frames without a function name; 0 when not read
};

// A frame has no location only if its object was not read.
struct Symbols : trace::Names {
  std::vector<std::uint32_t> object_of_module;  // index into objects
  std::vector<Object> objects;                  // one per distinct path and build id
};

}  // namespace heapwright::symbolize
