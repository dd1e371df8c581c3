// SPDX-License-Identifier: MIT
#include "collect/process_image.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "collect/cgroup.hpp"
#include "collect/proc_files.hpp"
#include "tracee/process_status.hpp"

namespace heapwright::collect {
namespace {

constexpr char cgroup_root[] = "/sys/fs/cgroup";
constexpr char no_room[] = "there is no room for a copy of its pointers";

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

// What to do included, as far as it can be known.
std::string why_unreadable(pid_t process, const std::string& folder) {
  if (tracee::has_no_memory(process)) return tracee::it_has_ended;
  if (access((folder + "/pagemap").c_str(), F_OK) != 0) {
    return "the kernel does not tell which pages it has (CONFIG_PROC_PAGE_MONITOR)";
  }
  return tracee::why_not_traced(process);
}

std::vector<trace::PageRun> resident_runs(pid_t process, const std::string& folder,
                                          const std::vector<trace::Mapping>& mappings) {
  PageMap pages(folder + "/pagemap");
  std::vector<trace::PageRun> runs;
  for (std::uint64_t at = 0; at < PageMap::end_address;) {
    at = pages.is_open() ? pages.read_window(at, mappings, runs) : 0;
    if (at == 0) throw std::runtime_error(why_unreadable(process, folder));
  }
  return runs;
}

// Not a file's, nor a device's, which opening might do something to.
bool is_shared_memory(const trace::Mapping& mapping) {
  if (!mapping.has(trace::MappingFlag::shared)) return false;
  constexpr const char* beginnings[] = {"/dev/shm/", "/dev/zero", "/memfd:", "/SYSV"};
  return !mapping.name.starts_with("/") ||
         std::any_of(std::begin(beginnings), std::end(beginnings),
                     [&](const char* begin) { return mapping.name.starts_with(begin); });
}

// What other processes have put into memory that this one shares: pages that it need not have itself. Only
// where the kernel shows the memory (CAP_CHECKPOINT_RESTORE), and of so much together, as it is read as well.
void add_shared_data(const std::string& folder, const std::vector<trace::Mapping>& mappings,
                     PageRanges& found) {
  constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20U;
  std::uint64_t bytes = 0;
  for (const trace::Mapping& mapping : mappings) {
    if (!is_shared_memory(mapping) || !may_hold_pointers(mapping)) continue;
    char name[64];
    std::snprintf(name, sizeof name, "/map_files/%lx-%lx", mapping.begin, mapping.end);
    const int file = open((folder + name).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) continue;
    const auto end = static_cast<off_t>(mapping.file_offset + (mapping.end - mapping.begin));
    off_t at = lseek(file, static_cast<off_t>(mapping.file_offset), SEEK_DATA);
    while (at >= 0 && at < end && bytes < most_bytes) {
      const auto room = static_cast<off_t>(most_bytes - bytes);
      const off_t hole = std::min({end, at + room, lseek(file, at, SEEK_HOLE)});
      if (hole <= at) break;
      const std::uint64_t begin = mapping.begin + static_cast<std::uint64_t>(at) - mapping.file_offset;
      found.push_back({begin, begin + static_cast<std::uint64_t>(hole - at)});
      bytes += static_cast<std::uint64_t>(hole - at);
      at = lseek(file, hole, SEEK_DATA);
    }
    close(file);
  }
}

// By address, disjoint.
PageRanges joined(PageRanges ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  PageRanges found;
  for (const auto& range : ranges) {
    if (found.empty() || found.back().end < range.begin) {
      found.push_back(range);
    } else {
      found.back().end = std::max(found.back().end, range.end);
    }
  }
  return found;
}

// The resident parts of mappings with pointers, by address. What is not writable now may have been: then it
// has pages of its own.
PageRanges memory_with_pointers(pid_t process, const std::string& folder,
                                const std::vector<trace::Mapping>& mappings) {
  PageRanges found;
  auto mapping = mappings.begin();
  for (const trace::PageRun& run : resident_runs(process, folder, mappings)) {
    while (mapping != mappings.end() && mapping->end <= run.begin) ++mapping;
    for (auto at = mapping; at != mappings.end() && at->begin < run.end; ++at) {
      const bool was_written = run.kind != trace::PageKind::file || at->has(trace::MappingFlag::writable);
      if (!was_written || !may_hold_pointers(*at)) continue;
      found.push_back({std::max(run.begin, at->begin), std::min(run.end, at->end)});
    }
  }
  add_shared_data(folder, mappings, found);
  return joined(std::move(found));
}

// Pointers to blocks have values in between. Mappings of the kernel's, such as [vsyscall], are far above.
tracee::WordCopy::Range values_of_pointers(const std::vector<trace::Mapping>& mappings) {
  tracee::WordCopy::Range values{UINT64_MAX, 0};
  for (const trace::Mapping& mapping : mappings) {
    if (mapping.end > PageMap::end_address) continue;
    values = {std::min(values.begin, mapping.begin), std::max(values.end, mapping.end)};
  }
  return values;
}

bool is_within(tracee::WordCopy::Range part, tracee::WordCopy::Range whole) {
  return part.begin >= whole.begin && part.end <= whole.end;
}

// Other processes may write to it.
PageRanges shared_memory(const std::vector<trace::Mapping>& mappings) {
  PageRanges found;
  for (const trace::Mapping& mapping : mappings) {
    if (mapping.has(trace::MappingFlag::shared)) found.push_back({mapping.begin, mapping.end});
  }
  return found;
}

// Less is read in some milliseconds.
bool pays_to_copy_ahead(const PageRanges& memory) {
  constexpr std::uint64_t least_bytes = std::uint64_t{64} << 20U;
  std::uint64_t bytes = 0;
  for (const auto& range : memory) bytes += range.end - range.begin;
  return bytes >= least_bytes;
}

// Pages of a mapping from `begin` to `end`, as far as it has them.
void add_within(const std::vector<trace::Mapping>& mappings, std::uint64_t at, tracee::WordCopy::Range wanted,
                PageRanges& found) {
  constexpr std::uint64_t page = 4096;
  for (const trace::Mapping& mapping : mappings) {
    if (at < mapping.begin || at >= mapping.end || !may_hold_pointers(mapping)) continue;
    found.push_back({std::max(wanted.begin / page * page, mapping.begin),
                     std::min((wanted.end + page - 1) / page * page, mapping.end)});
  }
}

// Stacks, as far as they are in use, and what is around the thread pointers. By address, disjoint.
PageRanges memory_of_threads(const ProcessImage& image) {
  constexpr std::uint64_t red_zone_bytes = 128;
  constexpr std::uint64_t most_stack_bytes = std::uint64_t{8} << 20U;
  constexpr std::uint64_t thread_record_bytes = 4096;
  std::uint64_t thread_local_bytes = thread_record_bytes;
  for (const auto& [path, variables] : image.modules) thread_local_bytes += variables->thread_local_bytes();
  PageRanges found;
  for (const tracee::StoppedThread& thread : image.threads) {
    const std::uint64_t stack = thread.stack_pointer - std::min(red_zone_bytes, thread.stack_pointer);
    add_within(image.mappings, thread.stack_pointer, {stack, stack + most_stack_bytes}, found);
    const std::uint64_t variables =
        thread.thread_pointer - std::min(thread_local_bytes, thread.thread_pointer);
    add_within(image.mappings, thread.thread_pointer,
               {variables, thread.thread_pointer + thread_record_bytes}, found);
  }
  return joined(std::move(found));
}

// As it is called in the list of mappings.
std::string program_of(const std::string& folder) {
  char path[4096];
  const ssize_t bytes = readlink((folder + "/exe").c_str(), path, sizeof path);
  return bytes < 0 ? std::string() : std::string(path, static_cast<std::size_t>(bytes));
}

// They do not change.
void add_linked_words(pid_t process, ProcessImage& image) {
  for (const trace::Mapping& mapping : image.mappings) {
    const auto module = image.modules.find(mapping.name);
    if (mapping.file_offset != 0 || module == image.modules.end()) continue;
    const ModuleVariables::LinkedWord& word = module->second->thread_local_word();
    if (word.kind == ModuleVariables::LinkedWord::Kind::none) continue;
    std::uint64_t value = 0;
    const std::uint64_t address = mapping.begin - module->second->base() + word.address;
    const bool is_read = tracee::read_memory(process, address, &value, sizeof value) == sizeof value;
    if (is_read) image.linked_words.try_emplace(mapping.name, value);
  }
}

// By which the trace knows them: those that they have in their own PID namespace.
void take_own_ids(pid_t process, std::vector<tracee::StoppedThread>& threads) {
  if (!tracee::is_in_namespace_below(process)) return;
  for (tracee::StoppedThread& thread : threads) {
    const long own_id = tracee::number_within(process, thread.id);
    if (own_id != 0) thread.id = static_cast<pid_t>(own_id);
  }
}

void read_outline(const tracee::StoppedProcess& process, const std::string& folder, ProcessImage& image) {
  image.mappings = parse_mappings(read_file(folder + "/maps"));
  image.threads = process.threads();
  take_own_ids(process.id(), image.threads);
  image.program = program_of(folder);
  add_modules(folder, image.mappings, image.modules);
  add_linked_words(process.id(), image);
}

}  // namespace

RootFolder::RootFolder(const std::string& folder)
    : file_(open((folder + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

RootFolder::~RootFolder() {
  if (file_ >= 0) close(file_);
}

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
  return !is_recorders(mapping.name) && !is_device(mapping.name) && !mapping.name.starts_with("[v");
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

ProcessImage prepare_image(std::uint32_t process_id, KnownModules modules, const ImageWish& wish) {
  const auto process = static_cast<pid_t>(process_id);
  const std::string folder = tracee::memory_folder(process);
  ProcessImage image;
  image.modules = std::move(modules);
  image.root = std::make_shared<const RootFolder>(folder);
  const std::vector<trace::Mapping> mappings = parse_mappings(read_file(folder + "/maps"));
  add_modules(folder, mappings, image.modules);
  const PageRanges memory = memory_with_pointers(process, folder, mappings);
  image.wish = {values_of_pointers(mappings), wish.is_unaligned ? 1 : tracee::WordCopy::word_bytes};
  const std::uint64_t bytes = tracee::WordCopy::expected_bytes(process, memory, image.wish);
  image.words = std::make_unique<tracee::WordCopy>(bytes, room_bytes(folder));
  // Unaligned words may begin in a page that does not change and end in one that does.
  if (!wish.copies_ahead || wish.is_unaligned || !pays_to_copy_ahead(memory)) return image;
  if (!can_tell_changed_pages() || !note_changed_pages(folder)) return image;
  image.copied = without(memory, shared_memory(mappings));
  if (!image.words->take(process, image.copied, image.wish)) throw std::runtime_error(no_room);
  return image;
}

void read_image(const tracee::StoppedProcess& process, ProcessImage& image) {
  const std::string folder = tracee::memory_folder(process.id());
  read_outline(process, folder, image);
  const PageRanges memory = memory_with_pointers(process.id(), folder, image.mappings);
  const tracee::WordCopy::Range copied_values =
      std::exchange(image.wish.values, values_of_pointers(image.mappings));
  PageRanges same;
  if (is_within(image.wish.values, copied_values)) {
    same = unchanged_pages(folder, common(memory, image.copied));
  }
  image.words->keep_only(same);
  if (!image.words->take(process.id(), without(memory, same), image.wish)) throw std::runtime_error(no_room);
}

void read_threads(const tracee::StoppedProcess& process, ProcessImage& image) {
  read_outline(process, tracee::memory_folder(process.id()), image);
  image.wish.values = values_of_pointers(image.mappings);
  image.copied = memory_of_threads(image);
  if (!image.words->take(process.id(), image.copied, image.wish)) throw std::runtime_error(no_room);
}

void read_running(std::uint32_t process_id, ProcessImage& image) {
  const auto process = static_cast<pid_t>(process_id);
  const std::string folder = tracee::memory_folder(process);
  const PageRanges rest = without(memory_with_pointers(process, folder, image.mappings), image.copied);
  if (!image.words->take(process, rest, image.wish)) throw std::runtime_error(no_room);
}

}  // namespace heapwright::collect
