// SPDX-License-Identifier: MIT
// Which pages of the recorded process were resident, and the address ranges they are in: the records of chunk
// kinds `mappings` and `residency`. These chunks stay on disk until a scan is requested.
//
// All addresses and lengths are whole units of 4 KiB.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/varint.hpp"

namespace heapwright::trace {

inline constexpr std::uint64_t residency_unit_bytes = 4096;

enum class MappingFlag : std::uint8_t { readable = 1, writable = 2, executable = 4, shared = 8 };

// One line of /proc/PID/maps.
struct Mapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;
  std::uint8_t flags = 0;  // MappingFlag
  std::string name;        // a file's path, "[heap]", "[stack]", ...; empty: anonymous

  bool has(MappingFlag flag) const noexcept { return (flags & static_cast<std::uint8_t>(flag)) != 0; }
  bool operator==(const Mapping&) const = default;
};

enum class PageKind : std::uint8_t {
  anonymous = 0,
  file = 1,  // of a file or of shared memory
  swapped = 2,
};

// Adjacent pages of one kind.
struct PageRun {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  PageKind kind = PageKind::anonymous;
  bool is_huge = false;
  bool operator==(const PageRun&) const = default;
};

// A part of the address space that was scanned at once: its runs are valid for one moment in [begin_ns,
// end_ns].
struct ScanWindow {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t first_run = 0;  // of ResidencyScan::runs
  std::uint32_t run_count = 0;
  bool operator==(const ScanWindow&) const = default;
};

// The kernel's figures for the process, from /proc/PID/status.
struct KernelMemory {
  std::uint64_t anonymous_bytes = 0;  // RssAnon
  std::uint64_t file_bytes = 0;       // RssFile
  std::uint64_t shared_bytes = 0;     // RssShmem
  std::uint64_t swapped_bytes = 0;    // VmSwap
  std::uint64_t page_table_bytes = 0;

  std::uint64_t resident_bytes() const noexcept { return anonymous_bytes + file_bytes + shared_bytes; }
  bool operator==(const KernelMemory&) const = default;
};

// Why a scan was made.
enum class ScanCause : std::uint8_t { period = 1, exit = 2, trim = 3, phase = 4 };

struct ResidencyScan {
  ScanCause cause = ScanCause::period;
  bool is_whole = true;  // false: the limit of runs was reached; later ones are missing
  KernelMemory before;
  KernelMemory after;
  std::uint64_t cpu_ns = 0;         // of the collector
  std::vector<ScanWindow> windows;  // by address and by time; they do not overlap
  std::vector<PageRun> runs;        // by address; each lies in its window

  // On the pages that were found, swapped ones not included. Equals the kernel's figure if nothing changes
  // meanwhile.
  std::uint64_t resident_bytes() const noexcept;
};

// Limits of a scan.
inline constexpr std::uint32_t max_runs_per_scan = 1U << 20U;
inline constexpr std::uint32_t max_windows_per_scan = (1U << 16U) - 1U;
inline constexpr std::uint32_t max_mappings = 1U << 16U;
inline constexpr std::uint32_t max_scans = 1U << 18U;
inline constexpr std::uint64_t max_address = 1ULL << 57U;

// As in record_codec.hpp: encode before compression; decode reads exactly `count` records and throws
// TraceError. A scan has one record for itself and one for each window.
void encode_records(std::span<const Mapping> mappings, std::vector<std::uint8_t>& out);
void encode_records(const ResidencyScan& scan, std::uint64_t begin_ns, std::vector<std::uint8_t>& out);
std::vector<Mapping> decode_mappings(base::ByteSource source, std::uint32_t count);
ResidencyScan decode_residency(base::ByteSource source, std::uint32_t count, std::uint64_t begin_ns);

}  // namespace heapwright::trace
