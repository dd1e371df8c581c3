// SPDX-License-Identifier: MIT
#include "collect/report.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "collect/messages.hpp"

namespace heapwright::collect {
namespace {

constexpr std::size_t most_lines = 20;

std::string decimal(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

// Bytes that are no UTF-8 cannot stand in JSON: every byte outside of ASCII
// is kept when the text is valid, replaced by '?' otherwise.
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
  text += number_field("process_id", file.process_id) + number_field("events", file.end.events);
  text += number_field("dropped", file.end.dropped) + number_field("threads", file.threads);
  text +=
      number_field("bytes", file.bytes) + number_field("recorder_peak_bytes", file.end.recorder_peak_bytes);
  text += number_field("duration_ns", file.end.time_ns);
  text += ", \"end\": {\"reason\": " + quoted(name_of(file.end.reason)) +
          ", \"status\": " + std::to_string(file.end.status) + "}";
  text += ", \"error\": " +
          (file.error_number == 0 ? std::string("null") : quoted(std::strerror(file.error_number)));
  return text + ", \"notes\": " + list_of(file.notes) + "}";
}

std::string in_units(std::uint64_t bytes) {
  const char* const units[] = {" bytes", " KiB", " MiB", " GiB", " TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return decimal(value, unit == 0 ? 0 : 1) + units[unit];
}

std::string line_of(const FileSummary& file) {
  std::string line = file.path + ": " + with_commas(file.end.events) + " events in " + in_units(file.bytes);
  if (file.end.events != 0) {
    line += " (" + decimal(static_cast<double>(file.bytes) / static_cast<double>(file.end.events), 2) +
            " bytes per event)";
  }
  line += ", " + (file.end.dropped == 0 ? "none" : with_commas(file.end.dropped)) + " dropped";
  if (file.error_number != 0) line += std::string("; incomplete: ") + std::strerror(file.error_number);
  return line;
}

// As a shell takes it.
std::string shell_word(const std::string& text) {
  constexpr char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char character : text)
    quoted += character == '\'' ? std::string("'\\''") : std::string(1, character);
  return quoted + "'";
}

// A build may run hundreds of processes: the largest, and the sum of others.
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

}  // namespace

const char* name_of(trace::EndReason reason) {
  switch (reason) {
    case trace::EndReason::missing:
      return "missing";
    case trace::EndReason::exited:
      return "exited";
    case trace::EndReason::killed:
      return "killed";
    case trace::EndReason::replaced:
      return "replaced";
    case trace::EndReason::size_limit:
      return "size_limit";
    case trace::EndReason::duration_limit:
      return "duration_limit";
    case trace::EndReason::write_failed:
      return "write_failed";
    case trace::EndReason::stopped:
      return "stopped";
  }
  return "missing";
}

std::vector<std::string> lines_of(const Report& report) {
  std::vector<std::string> lines = lines_of(report.files);
  if (report.processes_refused != 0) {
    lines.push_back(with_commas(report.processes_refused) + " processes were not recorded: more than " +
                    std::to_string(session::max_processes) + " ran at once");
  }
  if (report.files.empty()) {
    std::string why = "nothing was recorded: no heap call of '" + report.program + "' reached the recorder. ";
    why += report.notes.empty()
               ? "It made none, has an allocator of its own, or started without LD_PRELOAD (a wrapper that "
                 "clears the environment; --children follows programs it starts)"
               : report.notes.front();
    lines.push_back(why);
  }
  return lines;
}

std::string next_command(const Report& report) {
  const auto largest = std::max_element(
      report.files.begin(), report.files.end(),
      [](const FileSummary& a, const FileSummary& b) { return a.end.events < b.end.events; });
  if (largest == report.files.end() || largest->bytes == 0) return "";
  return "heapwright explain " + shell_word(largest->path);
}

std::string json_of(const Report& report) {
  std::string text = "{\"schema\": \"heapwright.recording/1\", \"program\": " + quoted(report.program);
  text += ", \"exit_code\": " + std::to_string(report.exit_code);
  text += number_field("processes_refused", report.processes_refused);
  text += std::string(", \"clock\": {\"source\": ") + (report.clock_is_tsc ? "\"tsc\"" : "\"monotonic\"");
  text += ", \"error_ppm\": " + decimal(report.clock_error_ppm, 3) +
          ", \"drift_ppm\": " + decimal(report.clock_drift_ppm, 3) + "}";
  text += ", \"files\": [";
  for (std::size_t i = 0; i < report.files.size(); ++i)
    text += (i == 0 ? "" : ", ") + json_of(report.files[i]);
  return text + "], \"notes\": " + list_of(report.notes) + "}\n";
}

}  // namespace heapwright::collect
