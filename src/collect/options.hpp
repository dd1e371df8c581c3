// SPDX-License-Identifier: MIT
// Command-line options of heapwright-collect.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace heapwright::collect {

// One line that says what to do; the command exits with code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What we started cannot be attached to. It has not run, and was ended.
class NotAttached : public UsageError {
 public:
  using UsageError::UsageError;
};

// When to look at who holds which block.
struct SnapshotWishes {
  bool at_end = false;            // of the program, or of the recording
  bool at_peak = false;           // of resident memory
  std::uint64_t every_ns = 0;     // 0: not
  std::uint64_t above_bytes = 0;  // when resident memory gets there; 0: not

  bool any() const noexcept { return at_end || at_peak || every_ns != 0 || above_bytes != 0; }
};

struct Options {
  std::string output_pattern = "%e.%p.heapwright";
  bool replace_existing = false;
  bool follow_children = false;
  bool free_stacks = false;
  bool durations = true;
  bool stacks = true;
  bool python = true;  // stacks have its frames
  bool residency = true;
  bool kernel_events = true;
  SnapshotWishes snapshots;
  bool runs_during_snapshots = false;  // the program, except for its registers and stacks, and at its end
  bool unaligned_pointers = false;     // snapshots look for them
  bool drops_when_full = false;        // rather than that the program waits for the collector
  std::uint32_t max_frames = 128;
  std::uint64_t sample_mean_bytes = 0;  // 0 = every call
  std::uint64_t max_size_bytes = 0;     // 0 = no limit
  std::uint64_t room_bytes = 0;         // 0 = keep everything
  std::uint64_t duration_ns = 0;        // 0 = no limit
  std::string control_path;
  bool starts_paused = false;
  bool keep_arguments = false;
  bool keep_settings = true;  // of the allocator, from the environment
  std::string library_path;   // empty: beside this program
  std::string behind_path;    // preloaded after the recorder; empty: nothing
  bool print_json = false;
  std::string summary_path;
  bool is_quiet = false;
  bool show_help = false;
  bool show_version = false;
  std::vector<std::string> command;  // program and arguments
  std::int32_t snapshot_of = 0;      // a process that is being recorded: ask for a snapshot, nothing else
  std::int32_t count_for = 0;        // `command` is counted, not recorded, for this process; 0: it is not
  bool asks_inside = false;          // whether `command` has an allocator inside: nothing else is done
  std::int32_t process = 0;          // a running process to attach to; 0: `command` is started
  bool patches = false;  // the allocator in `command`, once that stands at its entry; nothing is preloaded
  bool is_whole_run = false;  // of a process that is attached to: nothing ran in it before
  bool despite_seccomp = false;
  std::string attacher_path;  // empty: beside this program
};

// Throws UsageError.
Options parse_options(const std::vector<std::string>& arguments);

// The same with --patch. Not for options that --patch does not go with.
Options with_patches(Options options);
bool can_be_patched(const Options& options);

// "64k" = 65536, "1.5M" is refused; suffixes k, M, G in either case.
// Throws UsageError naming `option`.
std::uint64_t parse_bytes(const std::string& option, const std::string& text);

extern const char help_text[];

}  // namespace heapwright::collect
