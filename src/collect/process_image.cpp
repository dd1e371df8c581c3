// SPDX-License-Identifier: MIT
#include "collect/process_image.hpp"

#include <algorithm>
#include <stdexcept>

#include "collect/cgroup.hpp"
#include "collect/proc_files.hpp"

namespace heapwright::collect {
namespace {

constexpr char cgroup_root[] = "/sys/fs/cgroup";

// Of a line of /proc/PID/status or /proc/meminfo.
std::uint64_t kilobytes_in(const std::string& text, const std::string& field) {
  const std::size_t name = text.find(field);
  if (name == std::string::npos) return 0;
  const std::size_t at = text.find_first_not_of(" \t", name + field.size());
  return at == std::string::npos ? 0 : number_at(text.substr(at)).value_or(0) * 1024;
}

// That may be taken without harm to anybody.
std::uint64_t room_bytes(const std::string& folder) {
  std::uint64_t room = kilobytes_in(read_file("/proc/meminfo"), "MemAvailable:");
  const std::string cgroups = read_file(folder + "/cgroup");
  if (const auto limit = cgroup_memory_limit(cgroups, cgroup_root)) {
    const std::uint64_t charged = number_at(read_file(cgroup_charge_file(cgroups, cgroup_root))).value_or(0);
    room = std::min(room, *limit - std::min(charged, *limit));
  }
  return room / 2;
}

std::uint64_t expected_bytes(const std::string& folder) {
  const std::string status = read_file(folder + "/status");
  const std::uint64_t bytes = kilobytes_in(status, "RssAnon:") + kilobytes_in(status, "RssShmem:");
  return bytes + bytes / 16;
}

std::vector<trace::PageRun> resident_runs(const std::string& folder,
                                          const std::vector<trace::Mapping>& mappings) {
  PageMap pages(folder + "/pagemap");
  std::vector<trace::PageRun> runs;
  for (std::uint64_t at = 0; at < PageMap::end_address;) {
    at = pages.is_open() ? pages.read_window(at, mappings, runs) : 0;
    if (at == 0) throw std::runtime_error("its memory cannot be read");
  }
  return runs;
}

// The parts of runs that lie in mappings with pointers; both by address.
std::vector<tracee::MemoryCopy::Run> runs_with_pointers(const ProcessImage& image) {
  std::vector<tracee::MemoryCopy::Run> found;
  auto mapping = image.mappings.begin();
  for (const trace::PageRun& run : image.resident) {
    while (mapping != image.mappings.end() && mapping->end <= run.begin) ++mapping;
    for (auto at = mapping; at != image.mappings.end() && at->begin < run.end; ++at) {
      if (may_hold_pointers(*at)) {
        found.push_back({std::max(run.begin, at->begin), std::min(run.end, at->end)});
      }
    }
  }
  return found;
}

}  // namespace

bool is_recorders(const std::string& mapping_name) {
  return mapping_name.find("/libheapwright-") != std::string::npos ||
         mapping_name.starts_with("/memfd:heapwright");
}

// Registers and buffers of a device are not memory.
bool is_device(const std::string& mapping_name) {
  return mapping_name.starts_with("/dev/") && !mapping_name.starts_with("/dev/zero") &&
         !mapping_name.starts_with("/dev/shm/");
}

bool may_hold_pointers(const trace::Mapping& mapping) {
  using trace::MappingFlag;
  return mapping.has(MappingFlag::readable) && mapping.has(MappingFlag::writable) &&
         !is_recorders(mapping.name) && !is_device(mapping.name);
}

void add_modules(const std::string& folder, const std::vector<trace::Mapping>& mappings,
                 KnownModules& known) {
  for (const trace::Mapping& mapping : mappings) {
    const bool is_first = mapping.name.starts_with("/") && mapping.file_offset == 0 &&
                          !is_device(mapping.name) && !mapping.name.starts_with("/memfd:");
    if (!is_first || known.contains(mapping.name)) continue;
    known[mapping.name] = std::make_shared<const ModuleVariables>(folder + "/root" + mapping.name);
  }
}

ProcessImage prepare_image(const std::string& folder, KnownModules modules) {
  ProcessImage image;
  image.modules = std::move(modules);
  add_modules(folder, parse_mappings(read_file(folder + "/maps")), image.modules);
  const std::uint64_t bytes = expected_bytes(folder);
  if (bytes != 0 && bytes <= room_bytes(folder)) image.memory = std::make_unique<tracee::MemoryCopy>(bytes);
  return image;
}

void read_image(const tracee::StoppedProcess& process, const std::string& folder, ProcessImage& image) {
  image.mappings = parse_mappings(read_file(folder + "/maps"));
  image.resident = resident_runs(folder, image.mappings);
  image.threads = process.threads();
  add_modules(folder, image.mappings, image.modules);
  if (image.memory == nullptr || image.memory->add(process, runs_with_pointers(image))) return;
  image.memory.reset();
}

}  // namespace heapwright::collect
