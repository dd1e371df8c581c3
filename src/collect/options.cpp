// SPDX-License-Identifier: MIT
#include "collect/options.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string_view>

namespace heapwright::collect {

const char help_text[] =
    R"(Records the heap calls of a program, one trace file per process.

  heapwright-collect [options] -- PROGRAM [ARGUMENTS]
  heapwright-collect [options] --pid PID

  --output PATTERN    file to write: %p process id, %s its start in clock ticks
                      since boot (0: not known), %h host, %e program name,
                      %% a percent sign (default %e.%p.heapwright);
                      - is standard output, the program's own goes to standard error
  --force             replace existing files
  --children          record child processes as well, also those of --pid
  --free-stacks       keep the call stack of every release
  --no-stacks         keep no call stacks
  --no-python         keep no Python functions in call stacks
  --no-durations      do not time the calls
  --no-residency      do not scan which pages are resident
  --no-kernel-events  do not record page faults and waits within calls
  --when-full WHAT    wait (default) or drop: what a call does when the collector is too
                      slow for the program; what is dropped is counted
  --snapshot WHEN     look at who holds which block, and which ones nobody holds: at the
                      end (before the program exits), every=10m, above=2G or peak
                      (of resident memory); several with commas
  --no-stop           with snapshots: let the program run while its memory is copied, three times or more
  --unaligned         with snapshots: look for pointers at every byte, as in packed structs
  --snapshot-of PID   take a snapshot of a process that is being recorded, now
  --max-frames N      longest call stack to keep, 1 to 128 (default 128)
  --sample SIZE       record one block per SIZE allocated, on average
  --max-size SIZE     stop recording when the files together reach this size
  --room SIZE         with --sample: drop freed blocks, so that each file stays below
                      this size, and files of images that exec replaced; turns off
                      scans of resident pages and kernel events
  --duration TIME     stop recording after this time
  --control FILE      start or stop when FILE says "start" or "stop"
  --paused            begin without recording
  --keep-arguments    store the program's arguments in the trace
  --no-settings       do not store the allocator's settings (MALLOC_ARENA_MAX ...)
  --pid PID           record a running process, until --duration or Ctrl-C
  --patch             record PROGRAM as --pid would, from its first instruction on: for an
                      allocator that is linked into it; static programs need no option
  --count-for PID     count the calls of PROGRAM and of the allocator in it for that process,
                      heapwright count; programs that it executes get --library preloaded
  --has-inside        end with 0 if that would count more than a preloaded library, else 1
  --despite-seccomp   with --pid or --patch: attach even if the process has a seccomp
                      filter, which may kill it
  --attacher PATH     heapwright-attach, which --pid and --patch need
  --library PATH      the recorder, libheapwright-record.so
  --behind PATH       a library to preload after the recorder
  --json              print a summary as JSON on standard output at the end
  --summary FILE      write that summary to FILE
  --quiet             print nothing but errors
  --version, --help

SIZE is in bytes, or with k, M or G: 512k, 10MB, 2GiB. TIME is in seconds, or with
ns, us, ms, s, m or h: 500ms, 10m. The program goes on when a recording stops; its
exit code is passed through (128 + signal number if it was killed).
)";

namespace {

constexpr std::uint64_t smallest_max_size_bytes = 64 * 1024;
constexpr std::uint64_t smallest_room_bytes = 1024 * 1024;
constexpr double longest_duration_ns = 1e18;

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit size_units[] = {{"", 1}, {"k", 0x1p10}, {"m", 0x1p20}, {"g", 0x1p30}, {"t", 0x1p40}};
constexpr Unit time_units[] = {{"", 1e9},  {"ns", 1},     {"us", 1e3}, {"ms", 1e6},
                               {"s", 1e9}, {"min", 6e10}, {"m", 6e10}, {"h", 36e11}};

std::uint64_t parse_number(const std::string& option, const std::string& text, std::uint64_t lowest,
                           std::uint64_t highest) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < lowest || value > highest) {
    throw UsageError(option + " takes a whole number from " + std::to_string(lowest) + " to " +
                     std::to_string(highest) + ", not '" + text + "'");
  }
  return value;
}

// A number with one of these units; nothing: it is none.
std::optional<double> number_with_unit(std::string_view text, std::span<const Unit> units) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  const std::string_view name(stop, static_cast<std::size_t>(end - stop));
  const auto unit =
      std::find_if(units.begin(), units.end(), [&](const Unit& one) { return one.name == name; });
  if (error != std::errc{} || unit == units.end() || !std::isfinite(number)) return std::nullopt;
  return number * unit->factor;
}

std::uint64_t parse_duration(const std::string& option, const std::string& text) {
  const double duration_ns = number_with_unit(text, time_units).value_or(0);
  if (duration_ns <= 0 || duration_ns > longest_duration_ns) {
    throw UsageError(option + " takes a time above 0 such as 2.5s, 300ms or 10m, not '" + text + "'");
  }
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(duration_ns));
}

std::string parse_text(const std::string& option, const std::string& text) {
  if (text.empty()) throw UsageError(option + " must not be empty");
  return text;
}

// Only %p %s %h %e %%: otherwise a typo would become a file name.
std::string parse_pattern(const std::string& option, const std::string& text) {
  parse_text(option, text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') continue;
    ++i;
    if (i == text.size() || std::string("pshe%").find(text[i]) == std::string::npos) {
      throw UsageError(option + " knows %p, %s, %h, %e and %% only; write %% for a percent sign in '" + text +
                       "'");
    }
  }
  if (text.back() == '/') {
    throw UsageError(option + " must name a file, not a folder: add %e.%p.heapwright to '" + text + "'");
  }
  return text;
}

bool parse_when_full(const std::string& option, const std::string& text) {
  if (text != "wait" && text != "drop") throw UsageError(option + " takes wait or drop, not '" + text + "'");
  return text == "drop";
}

SnapshotWishes parse_snapshot(const std::string& option, const std::string& text) {
  SnapshotWishes wishes;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string one = text.substr(at, end - at);
    at = end + 1;
    if (one == "end") {
      wishes.at_end = true;
    } else if (one == "peak") {
      wishes.at_peak = true;
    } else if (one.starts_with("every=")) {
      wishes.every_ns = parse_duration(option + " every", one.substr(6));
    } else if (one.starts_with("above=")) {
      wishes.above_bytes = parse_bytes(option + " above", one.substr(6));
    } else {
      throw UsageError(option + " takes end, peak, every=10m or above=2G, not '" + one + "'");
    }
  }
  return wishes;
}

using SetFlag = std::function<void(Options&)>;
using SetValue = std::function<void(Options&, const std::string& option, const std::string& value)>;

const std::map<std::string, SetFlag>& flags() {
  static const std::map<std::string, SetFlag> table{
      {"--force", [](Options& o) { o.replace_existing = true; }},
      {"--children", [](Options& o) { o.follow_children = true; }},
      {"--free-stacks", [](Options& o) { o.free_stacks = true; }},
      {"--no-stop", [](Options& o) { o.runs_during_snapshots = true; }},
      {"--unaligned", [](Options& o) { o.unaligned_pointers = true; }},
      {"--no-stacks", [](Options& o) { o.stacks = false; }},
      {"--no-python", [](Options& o) { o.python = false; }},
      {"--no-durations", [](Options& o) { o.durations = false; }},
      {"--no-residency", [](Options& o) { o.residency = false; }},
      {"--no-kernel-events", [](Options& o) { o.kernel_events = false; }},
      {"--paused", [](Options& o) { o.starts_paused = true; }},
      {"--keep-arguments", [](Options& o) { o.keep_arguments = true; }},
      {"--no-settings", [](Options& o) { o.keep_settings = false; }},
      {"--json", [](Options& o) { o.print_json = true; }},
      {"--quiet", [](Options& o) { o.is_quiet = true; }},
      {"--despite-seccomp", [](Options& o) { o.despite_seccomp = true; }},
      {"--patch", [](Options& o) { o.patches = true; }},
      {"--has-inside", [](Options& o) { o.asks_inside = true; }},
      {"--help", [](Options& o) { o.show_help = true; }},
      {"--version", [](Options& o) { o.show_version = true; }},
  };
  return table;
}

const std::map<std::string, SetValue>& values() {
  using Text = const std::string&;
  static const std::map<std::string, SetValue> table{
      {"--output", [](Options& o, Text name, Text text) { o.output_pattern = parse_pattern(name, text); }},
      {"--max-frames",
       [](Options& o, Text name, Text text) {
         o.max_frames = static_cast<std::uint32_t>(parse_number(name, text, 1, 128));
       }},
      {"--when-full",
       [](Options& o, Text name, Text text) { o.drops_when_full = parse_when_full(name, text); }},
      {"--snapshot", [](Options& o, Text name, Text text) { o.snapshots = parse_snapshot(name, text); }},
      {"--snapshot-of",
       [](Options& o, Text name, Text text) {
         o.snapshot_of = static_cast<std::int32_t>(parse_number(name, text, 1, INT32_MAX));
       }},
      {"--count-for",
       [](Options& o, Text name, Text text) {
         o.count_for = static_cast<std::int32_t>(parse_number(name, text, 1, INT32_MAX));
       }},
      {"--sample", [](Options& o, Text name, Text text) { o.sample_mean_bytes = parse_bytes(name, text); }},
      {"--max-size", [](Options& o, Text name, Text text) { o.max_size_bytes = parse_bytes(name, text); }},
      {"--room", [](Options& o, Text name, Text text) { o.room_bytes = parse_bytes(name, text); }},
      {"--duration", [](Options& o, Text name, Text text) { o.duration_ns = parse_duration(name, text); }},
      {"--control", [](Options& o, Text name, Text text) { o.control_path = parse_text(name, text); }},
      {"--pid",
       [](Options& o, Text name, Text text) {
         o.process = static_cast<std::int32_t>(parse_number(name, text, 1, INT32_MAX));
       }},
      {"--attacher", [](Options& o, Text name, Text text) { o.attacher_path = parse_text(name, text); }},
      {"--library", [](Options& o, Text name, Text text) { o.library_path = parse_text(name, text); }},
      {"--behind", [](Options& o, Text name, Text text) { o.behind_path = parse_text(name, text); }},
      {"--summary", [](Options& o, Text name, Text text) { o.summary_path = parse_text(name, text); }},
  };
  return table;
}

void check_what_is_recorded(const Options& options) {
  if (options.process == 0 && !options.patches && options.despite_seccomp) {
    throw UsageError(
        "--despite-seccomp needs --pid PID or --patch; a seccomp filter matters only for attaching");
  }
  if (options.process == 0 && options.command.empty()) {
    throw UsageError("name the program to record: heapwright-collect -- PROGRAM [ARGUMENTS]");
  }
  if (options.process == 0 && !options.patches) return;
  const std::string name = options.patches ? "--patch" : "--pid";
  if (options.process != 0 && !options.command.empty()) {
    throw UsageError("--pid records a running process: leave out the program");
  }
  if (options.process != 0 && options.patches) {
    throw UsageError("--patch starts a program and --pid takes a running one: leave out one of them");
  }
  if (!options.behind_path.empty()) throw UsageError(name + " preloads nothing: leave out --behind");
  if (options.follow_children && options.patches) {
    throw UsageError("--patch records one process without its children: leave out --children");
  }
}

void check_together(const Options& options) {
  if (options.show_help || options.show_version || options.snapshot_of != 0) return;
  check_what_is_recorded(options);
  if (options.free_stacks && !options.stacks) {
    throw UsageError("--free-stacks and --no-stacks exclude each other; drop one");
  }
  if (options.print_json && options.output_pattern == "-") {
    throw UsageError("--json and --output - both mean standard output; use --summary FILE");
  }
  if (options.max_size_bytes != 0 && options.max_size_bytes < smallest_max_size_bytes) {
    throw UsageError("--max-size must be at least 64k");
  }
  if (options.room_bytes == 0) return;
  if (options.room_bytes < smallest_room_bytes) throw UsageError("--room must be at least 1M");
  if (options.sample_mean_bytes == 0) {
    throw UsageError("--room needs --sample BYTES; a recording of every call stops at --max-size");
  }
}

}  // namespace

std::uint64_t parse_bytes(const std::string& option, const std::string& text) {
  std::string plain = text;
  for (char& letter : plain) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  if (plain.ends_with("ib")) {
    plain.resize(plain.size() - 2);  // 512KiB
  } else if (plain.ends_with("b")) {
    plain.pop_back();  // 10MB
  }
  const double bytes = number_with_unit(plain, size_units).value_or(0);
  if (bytes < 1 || bytes > 0x1p62) {
    throw UsageError(option + " takes a number of bytes such as 4096, 512k, 100M or 2G, not '" + text + "'");
  }
  return static_cast<std::uint64_t>(bytes);
}

Options parse_options(const std::vector<std::string>& arguments) {
  Options options;
  std::size_t next = 0;
  for (; next < arguments.size(); ++next) {
    const std::string& argument = arguments[next];
    if (argument == "--") {
      ++next;
      break;
    }
    if (argument.size() < 2 || argument[0] != '-') break;
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const auto flag = flags().find(name);
    const auto value = values().find(name);
    if (flag != flags().end()) {
      if (equals != std::string::npos) throw UsageError(name + " takes no value");
      flag->second(options);
    } else if (value == values().end()) {
      throw UsageError("unknown option " + name + "; heapwright-collect --help lists them");
    } else if (equals != std::string::npos) {
      value->second(options, name, argument.substr(equals + 1));
    } else if (++next < arguments.size()) {
      value->second(options, name, arguments[next]);
    } else {
      throw UsageError(name + " needs a value; heapwright-collect --help says which");
    }
  }
  options.command.assign(arguments.begin() + static_cast<std::ptrdiff_t>(std::min(next, arguments.size())),
                         arguments.end());
  check_together(options);
  if (options.room_bytes != 0) options.residency = options.kernel_events = false;
  return options;
}

bool can_be_patched(const Options& options) {
  return options.behind_path.empty() && !options.follow_children;
}

Options with_patches(Options options) {
  options.patches = true;
  return options;
}

}  // namespace heapwright::collect
