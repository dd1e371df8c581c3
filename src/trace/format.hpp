// SPDX-License-Identifier: MIT
// The binary layout of a trace file, as described in docs/trace-format.md:
//
//   FileHeader | chunk ... | end chunk | index chunk | Footer
//   chunk = ChunkHeader | payload
//
// All numbers are in the byte order of the machine that wrote the file; the header says which, and a reader
// refuses the other one.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/crc32c.hpp"

namespace heapwright::trace {

inline constexpr std::array<char, 8> file_magic = {'\x89', 'H', 'W', 'T', '\r', '\n', '\x1a', '\n'};
inline constexpr std::array<char, 8> footer_magic = {'H', 'W', 'T', 'I', 'N', 'D', 'E', 'X'};
inline constexpr std::uint32_t chunk_magic = 0x4b435748U;  // "HWCK"
inline constexpr std::uint32_t byte_order_mark = 0x01020304U;
inline constexpr std::uint16_t format_version = 1;
inline constexpr std::uint32_t time_quantum_ns = 16;
inline constexpr std::uint32_t duration_quantum_ns = 4;

// Limits that keep a malicious file from exhausting memory. The writer never exceeds them: a recorder's own
// tables are smaller.
inline constexpr std::uint32_t max_payload_bytes = 1U << 26U;
inline constexpr std::uint32_t max_table_bytes = 1U << 24U;   // of one chunk, unpacked
inline constexpr std::uint32_t max_tables_bytes = 1U << 27U;  // of all chunks but events and index, unpacked
inline constexpr std::uint32_t max_index_bytes = 1U << 28U;   // unpacked
inline constexpr std::size_t max_events_per_chunk = 32768;
inline constexpr std::uint32_t max_records_per_chunk = 1U << 16U;
inline constexpr std::uint32_t max_frames = 1U << 22U;
inline constexpr std::uint32_t max_stacks = 1U << 25U;
inline constexpr std::uint32_t max_modules = 1U << 17U;
inline constexpr std::uint32_t max_threads = 1U << 24U;
inline constexpr std::uint32_t max_memory_samples = 1U << 22U;
inline constexpr std::uint32_t max_switches = 1U << 20U;
inline constexpr std::uint32_t max_processor_samples = 1U << 22U;
inline constexpr std::uint32_t max_refault_runs = 1U << 22U;
inline constexpr std::size_t max_notes = 4096;
inline constexpr std::size_t max_text_bytes = 1U << 16U;
inline constexpr std::uint64_t max_time_ns = 1ULL << 62U;

// A limit for the ids in a file of this length: tables are dense, so a tiny file with one huge id would take
// as much memory as a long recording. A chunk holds at most max_records_per_chunk ids, including lost ones,
// and a thread takes at least a few bytes.
constexpr std::uint64_t ids_below(std::uint64_t file_bytes, std::uint32_t limit) noexcept {
  return std::min<std::uint64_t>(limit, (file_bytes / 56 + 1) * max_records_per_chunk);
}
constexpr std::uint64_t threads_below(std::uint64_t file_bytes) noexcept {
  return std::min<std::uint64_t>(max_threads, std::max<std::uint64_t>(4096, file_bytes / 8));
}

struct FileHeader {
  std::array<char, 8> magic = file_magic;
  std::uint32_t byte_order = byte_order_mark;
  std::uint16_t version = format_version;
  std::uint16_t header_bytes = 32;
  std::uint32_t time_quantum_ns = trace::time_quantum_ns;
  std::uint32_t duration_quantum_ns = trace::duration_quantum_ns;
  std::uint32_t reserved = 0;
  std::uint32_t crc = 0;  // of the bytes before it
};
static_assert(sizeof(FileHeader) == 32);

struct ChunkHeader {
  std::uint32_t magic = chunk_magic;
  std::uint16_t kind = 0;           // ChunkKind
  std::uint16_t header_bytes = 56;  // a later version may append fields
  std::uint32_t payload_bytes = 0;
  std::uint32_t payload_crc = 0;     // of everything between this struct and the chunk's end
  std::uint32_t count = 0;           // records in the payload
  std::uint32_t thread = 0;          // events only
  std::uint64_t first = 0;           // events: sequence of the first; frames, stacks: its id
  std::uint64_t first_begin_ns = 0;  // events only: begin of the first, as decoded
  std::uint64_t last_end_ns = 0;     // events only: largest begin + duration, as decoded
  std::uint32_t reserved = 0;
  std::uint32_t header_crc = 0;  // of the bytes before it
};
static_assert(sizeof(ChunkHeader) == 56);

struct Footer {
  std::uint64_t index_offset = 0;  // of the index chunk's header
  std::uint32_t reserved = 0;
  std::uint32_t crc = 0;  // of index_offset and reserved
  std::array<char, 8> magic = footer_magic;
};
static_assert(sizeof(Footer) == 24);

inline std::uint32_t crc_of(const FileHeader& header) noexcept {
  return base::crc32c(&header, offsetof(FileHeader, crc));
}
inline std::uint32_t crc_of(const ChunkHeader& header) noexcept {
  return base::crc32c(&header, offsetof(ChunkHeader, header_crc));
}
inline std::uint32_t crc_of(const Footer& footer) noexcept {
  return base::crc32c(&footer, offsetof(Footer, crc));
}

// A fuzzer cannot guess checksums: its build accepts all of them.
#ifdef HEAPWRIGHT_TRACE_UNCHECKED
inline constexpr bool checksums_count = false;
#else
inline constexpr bool checksums_count = true;
#endif

inline bool crc_matches(std::uint32_t stored, std::uint32_t computed) noexcept {
  return !checksums_count || stored == computed;
}

}  // namespace heapwright::trace
