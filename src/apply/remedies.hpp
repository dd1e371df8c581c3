// SPDX-License-Identifier: MIT
// What a remedy file says (docs/apply.md): plain data of a fixed size, so that reading it allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapwright::apply {

enum class RemedyKind : std::uint8_t {
  none,
  segregate,  // the site's blocks are in a heap of their own
  reuse,      // the same, and its freed large blocks are kept for its next ones
  defer,      // the same, and a thread frees its blocks later
  trim,       // malloc_trim() while the program is idle
  skip_frees  // what is freed while the process ends stays as it is
};
constexpr bool has_site(RemedyKind kind) noexcept {
  return kind == RemedyKind::segregate || kind == RemedyKind::reuse || kind == RemedyKind::defer;
}

inline constexpr std::size_t most_remedies = 16;
inline constexpr std::size_t most_modules = 32;
inline constexpr std::size_t most_stacks = 512;
inline constexpr std::size_t most_frames = 8;
inline constexpr std::size_t most_file_bytes = 256 * 1024;

struct Module {
  char name[128];  // the file's, without its folder
  std::uint8_t build_id[32];
  std::uint32_t build_id_bytes;
};

// A return address.
struct Frame {
  std::uint64_t module;
  std::uint64_t offset;  // from the module's load bias
};

// The innermost frames of calls that a remedy concerns.
struct Stack {
  std::uint32_t remedy;
  std::uint32_t frame_count;
  Frame frames[most_frames];
};

struct Remedy {
  RemedyKind kind;
  char site[128];            // as the user named it
  std::uint64_t most_bytes;  // reuse: kept at most
  std::uint32_t every_ms;    // trim
};

struct Remedies {
  std::uint32_t module_count;
  std::uint32_t remedy_count;
  std::uint32_t stack_count;
  Module modules[most_modules];
  Remedy remedies[most_remedies];
  Stack stacks[most_stacks];
};

}  // namespace heapwright::apply
