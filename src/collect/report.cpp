// SPDX-License-Identifier: MIT
#include "collect/report.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "collect/messages.hpp"
#include "collect/output_stream.hpp"
#include "collect/program_check.hpp"

namespace heapwright::collect {
namespace {

constexpr std::size_t most_lines = 20;

std::string decimal(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

// JSON must be UTF-8: non-ASCII bytes are kept if the text is valid UTF-8, and replaced by '?' otherwise.
bool is_utf8(const std::string& text) {
  std::size_t expected = 0;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (expected > 0) {
      if ((byte & 0xc0) != 0x80) return false;
      --expected;
    } else if (byte >= 0x80) {
      expected = byte >= 0xc2 && byte < 0xe0   ? 1
                 : (byte & 0xf0) == 0xe0       ? 2
                 : byte >= 0xf0 && byte < 0xf5 ? 3
                                               : 0;
      if (expected == 0) return false;
    }
  }
  return expected == 0;
}

std::string list_of(const std::vector<std::string>& texts) {
  std::string result = "[";
  for (const std::string& text : texts) result += (result.size() > 1 ? ", " : "") + quoted(text);
  return result + "]";
}

std::string number_field(const char* name, std::uint64_t value) {
  return std::string(", \"") + name + "\": " + std::to_string(value);
}

std::string json_of(const FileSummary& file) {
  std::string text = "{\"path\": " + quoted(file.path) + ", \"program\": " + quoted(file.program);
  text += number_field("process_id", file.process_id);
  text += number_field("parent_process_id", file.parent_process_id);
  text += std::string(", \"is_fork_child\": ") + (file.is_fork_child ? "true" : "false");
  text += number_field("start_ns", file.start_ns) + number_field("events", file.end.events);
  text += number_field("dropped", file.end.dropped) + number_field("threads", file.threads);
  text +=
      number_field("bytes", file.bytes) + number_field("recorder_peak_bytes", file.end.recorder_peak_bytes);
  text += number_field("duration_ns", file.end.time_ns);
  text += ", \"end\": {\"reason\": " + quoted(name_of(file.end.reason)) +
          ", \"status\": " + std::to_string(file.end.status) + "}";
  text += ", \"error\": " +
          (file.error_number == 0 ? std::string("null") : quoted(std::strerror(file.error_number)));
  return text + ", \"notes\": " + list_of(file.notes) + ", \"unseen\": " + list_of(file.unseen) + "}";
}

std::string in_units(std::uint64_t bytes) {
  const char* const units[] = {" bytes", " KiB", " MiB", " GiB", " TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return decimal(value, unit == 0 ? 0 : 1) + units[unit];
}

std::string line_of(const FileSummary& file) {
  const char* const events = file.end.events == 1 ? " event in " : " events in ";
  std::string line = file.path + ": " + with_commas(file.end.events) + events + in_units(file.bytes);
  if (file.end.events != 0) {
    line += " (" + decimal(static_cast<double>(file.bytes) / static_cast<double>(file.end.events), 2) +
            " bytes per event)";
  }
  line += ", " + (file.end.dropped == 0 ? "none" : with_commas(file.end.dropped)) + " dropped";
  if (file.error_number != 0) line += std::string("; incomplete: ") + std::strerror(file.error_number);
  return line;
}

// Quoted for a shell if necessary.
std::string shell_word(const std::string& text) {
  constexpr char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char character : text) {
    quoted += character == '\'' ? std::string("'\\''") : std::string(1, character);
  }
  return quoted + "'";
}

// A build may run hundreds of processes: lists the largest and sums up the others.
std::vector<std::string> lines_of(std::vector<FileSummary> files) {
  std::vector<std::string> lines;
  if (files.size() > most_lines) {
    std::stable_sort(files.begin(), files.end(),
                     [](const auto& a, const auto& b) { return a.end.events > b.end.events; });
  }
  std::uint64_t other_events = 0;
  std::uint64_t other_dropped = 0;
  for (const FileSummary& file : files) {
    if (lines.size() < most_lines || file.error_number != 0) {
      lines.push_back(line_of(file));
    } else {
      other_events += file.end.events;
      other_dropped += file.end.dropped;
    }
  }
  if (files.size() == lines.size()) return lines;
  lines.push_back("and " + with_commas(files.size() - lines.size()) +
                  " smaller files: " + with_commas(other_events) + " events, " +
                  (other_dropped == 0 ? "none" : with_commas(other_dropped)) + " dropped");
  return lines;
}

std::string processes(std::uint64_t count, const char* one, const char* many) {
  return count == 1 ? std::string("1 ") + one : with_commas(count) + " " + many;
}

// Grouped by program and reason, the most frequent first.
std::vector<std::string> lines_about_unrecorded(const Report& report) {
  std::map<std::string, std::uint64_t> reasons;
  std::uint64_t without_calls = 0;
  for (const UnrecordedProcess& process : report.unrecorded) {
    const std::string program = process.program.empty() ? "" : "'" + process.program + "': ";
    if (process.made_no_call) {
      ++without_calls;
    } else {
      ++reasons[program + process.reason];
    }
  }
  std::vector<std::pair<std::string, std::uint64_t>> sorted(reasons.begin(), reasons.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> lines;
  std::uint64_t others = report.more_unrecorded;
  for (const auto& [reason, count] : sorted) {
    if (lines.size() < most_lines) {
      lines.push_back(processes(count, "process was", "processes were") + " not recorded: " + reason);
    } else {
      others += count;
    }
  }
  if (others != 0) {
    lines.push_back("and " + processes(others, "other process was", "other processes were") +
                    " not recorded");
  }
  if (report.starts_lost != 0) {
    lines.push_back(processes(report.starts_lost, "process start was", "process starts were") +
                    " not seen: more than " + std::to_string(session::max_starts) + " at once");
  }
  if (without_calls != 0) {
    lines.push_back(processes(without_calls, "forked child", "forked children") +
                    " made no heap call: nothing to record");
  }
  if (report.children_left_alone != 0) {
    lines.push_back(processes(report.children_left_alone, "child process was", "child processes were") +
                    " not recorded; --children records them");
  }
  return lines;
}

std::string json_of(const UnrecordedProcess& process) {
  std::string text = "{\"process_id\": " +
                     (process.process_id == 0 ? std::string("null") : std::to_string(process.process_id));
  text += number_field("parent_process_id", process.parent_process_id);
  text += ", \"program\": " + quoted(process.program) + ", \"reason\": " + quoted(process.reason);
  return text + ", \"made_no_call\": " + (process.made_no_call ? "true" : "false") + "}";
}

// Only what was not printed when the program started; each line once.
std::vector<std::string> unseen_lines_of(const Report& report) {
  std::vector<std::string> lines;
  for (const FileSummary& file : report.files) {
    for (const std::string& line : file.unseen) {
      const bool is_printed = std::count(report.notes.begin(), report.notes.end(), line) != 0 ||
                              std::count(lines.begin(), lines.end(), line) != 0;
      if (!is_printed && lines.size() < most_lines) lines.push_back(line);
    }
  }
  return lines;
}

}  // namespace

std::string quoted(const std::string& text) {
  const bool keeps_high_bytes = is_utf8(text);
  std::string result = "\"";
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (character == '"' || character == '\\') {
      result += '\\';
      result += character;
    } else if (byte < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", byte);
      result += escape;
    } else {
      result += byte >= 0x80 && !keeps_high_bytes ? '?' : character;
    }
  }
  return result + "\"";
}

const char* name_of(trace::EndReason reason) {
  // Indexed by EndReason.
  static constexpr const char* names[] = {"missing",       "exited",         "killed",       "replaced",
                                          "size_limit",    "duration_limit", "write_failed", "stopped",
                                          "recorder_lost", "still_running"};
  const auto number = static_cast<std::size_t>(reason);
  return number < std::size(names) ? names[number] : "missing";
}

std::vector<std::string> lines_of(const Report& report) {
  std::vector<std::string> lines = lines_of(report.files);
  for (std::string& line : lines_about_unrecorded(report)) lines.push_back(std::move(line));
  if (!report.session_path.empty() && report.files.size() > 1) {
    lines.push_back("all processes: heapwright explain " + shell_word(report.session_path));
  }
  for (std::string& line : unseen_lines_of(report)) lines.push_back(std::move(line));
  if (report.files.empty() && report.attached.empty()) {
    std::string why = "nothing was recorded: no heap call of '" + report.program + "' reached the recorder. ";
    why += report.notes.empty()
               ? "It made none, has its own allocator, or started without LD_PRELOAD (a wrapper that "
                 "clears the environment; --children follows programs it starts)"
               : report.notes.front();
    lines.push_back(why);
  }
  return lines;
}

std::string next_command(const Report& report) {
  // The largest file of the program with the most events in all its processes. A program that only starts
  // others is chosen last.
  const auto rank = [](const FileSummary& file) {
    return file.end.reason != trace::EndReason::replaced && !is_starter(file.program);
  };
  std::map<std::string, std::uint64_t> events;
  for (const FileSummary& file : report.files) events[file.program] += file.end.events;
  const auto largest = std::max_element(report.files.begin(), report.files.end(),
                                        [&](const FileSummary& a, const FileSummary& b) {
                                          return std::tuple(rank(a), events[a.program], a.end.events) <
                                                 std::tuple(rank(b), events[b.program], b.end.events);
                                        });
  if (largest == report.files.end() || largest->bytes == 0 || is_stream(largest->path)) return "";
  return "heapwright explain " + shell_word(largest->path);
}

std::string json_of(const Report& report) {
  std::string text = "{\"schema\": \"heapwright.recording/1\", \"program\": " + quoted(report.program);
  text += ", \"exit_code\": " + std::to_string(report.exit_code);
  text += number_field("start_unix_ns", report.start_unix_ns);
  text += std::string(", \"clock\": {\"source\": ") + (report.clock_is_tsc ? "\"tsc\"" : "\"monotonic\"");
  text += ", \"error_ppm\": " + decimal(report.clock_error_ppm, 3) +
          ", \"drift_ppm\": " + decimal(report.clock_drift_ppm, 3) + "}";
  text += ", \"files\": [";
  for (std::size_t i = 0; i < report.files.size(); ++i) {
    text += (i == 0 ? "" : ", ") + json_of(report.files[i]);
  }
  text += "], \"unrecorded\": [";
  for (std::size_t i = 0; i < report.unrecorded.size(); ++i) {
    text += (i == 0 ? "" : ", ") + json_of(report.unrecorded[i]);
  }
  text += "]" + number_field("more_unrecorded", report.more_unrecorded);
  text += number_field("starts_lost", report.starts_lost);
  text += number_field("children_left_alone", report.children_left_alone);
  if (!report.attached.empty()) text += ", \"attach\": " + report.attached;
  if (!report.detached.empty()) text += ", \"detach\": " + report.detached;
  return text + ", \"notes\": " + list_of(report.notes) + "}\n";
}

}  // namespace heapwright::collect
