// SPDX-License-Identifier: MIT
#include "symbolize/object_file.hpp"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

namespace heapwright::symbolize {
namespace {

enum class Match { absent, not_elf, other_build, unverified, same };

class FileDescriptor {
 public:
  // O_NONBLOCK: the path comes from the trace and may name a pipe.
  explicit FileDescriptor(const std::string& path)
      : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~FileDescriptor() {
    if (number_ >= 0) ::close(number_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int number() const noexcept { return number_; }

 private:
  int number_;
};

std::string hex_of(const void* bytes, std::size_t length) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < length; ++i) {
    const auto byte = static_cast<const unsigned char*>(bytes)[i];
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

bool has_debug_section(Elf* elf) {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return false;
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name != nullptr && std::strcmp(name, ".debug_info") == 0) return true;
  }
  return false;
}

Match match_elf(Elf* elf, const std::string& build_id) {
  GElf_Ehdr header;
  if (elf_kind(elf) != ELF_K_ELF || gelf_getehdr(elf, &header) == nullptr) return Match::not_elf;
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN) return Match::not_elf;
  if (build_id.empty()) return Match::unverified;
  const void* bytes = nullptr;
  const ssize_t length = dwelf_elf_gnu_build_id(elf, &bytes);
  if (length <= 0) return Match::other_build;
  return hex_of(bytes, static_cast<std::size_t>(length)) == build_id ? Match::same : Match::other_build;
}

// Calls look(elf) on the file's ELF object; returns `absent` or `not_elf` if there is none.
template <typename Look>
Match look_into(const std::string& path, const Look& look) {
  const FileDescriptor file(path);
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) return Match::absent;
  if (!S_ISREG(status.st_mode)) return Match::not_elf;
  elf_version(EV_CURRENT);
  Elf* elf = elf_begin(file.number(), ELF_C_READ_MMAP, nullptr);
  if (elf == nullptr) return Match::not_elf;
  const Match match = look(elf);
  elf_end(elf);
  return match;
}

bool is_hex(const std::string& text) {
  return text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::string file_name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::vector<std::string> candidates(const Object& object, const Options& options) {
  std::vector<std::string> paths;
  if (!options.debug_root.empty()) {
    paths.push_back(options.debug_root + (object.path.front() == '/' ? "" : "/") + object.path);
    paths.push_back(options.debug_root + "/" + file_name_of(object.path));
  }
  paths.push_back(object.path);
  // A separate debug file can replace a missing object. The build id becomes part of a path, so it must be
  // only digits.
  if (object.build_id.size() < 3 || !is_hex(object.build_id)) return paths;
  const std::string link = "/.build-id/" + object.build_id.substr(0, 2) + "/" + object.build_id.substr(2);
  std::vector<std::string> folders = options.debug_directories;
  if (!options.debug_root.empty()) {
    folders.insert(folders.begin(), {options.debug_root, options.debug_root + "/usr/lib/debug"});
  }
  for (const std::string& folder : folders) paths.push_back(folder + link + ".debug");
  return paths;
}

std::string problem_of(const Object& object, Match best, const std::string& seen) {
  switch (best) {
    case Match::other_build:
      return seen +
             " is not the recorded build (build id differs): keep the recorded file, or name a "
             "folder that has it with --debug-root";
    case Match::not_elf:
      return seen + " is not an ELF program or library";
    default:
      return object.path + " is not on this machine: name a folder that has it with --debug-root";
  }
}

std::string debug_search_path(const Options& options) {
  std::string text = ":.debug";  // next to the object, and in .debug/ there
  if (!options.debug_root.empty()) text += ":" + options.debug_root + "/usr/lib/debug:" + options.debug_root;
  for (const std::string& folder : options.debug_directories) text += ":" + folder;
  return text;
}

// The places where libdwfl searches by name for the debug file `link`.
bool is_in_search_path(const std::string& object, const std::string& link, const Options& options) {
  const auto exists = [&](const std::string& folder) {
    return ::access((folder + '/' + link).c_str(), F_OK) == 0;
  };
  std::vector<std::string> roots = options.debug_directories;
  if (!options.debug_root.empty()) {
    roots.insert(roots.begin(), {options.debug_root, options.debug_root + "/usr/lib/debug"});
  }
  std::error_code error;
  for (const std::string& path : {object, std::filesystem::weakly_canonical(object, error).string()}) {
    const std::string folder = path.substr(0, std::min(path.rfind('/'), path.size()));
    if (exists(folder) || exists(folder + "/.debug")) return true;
    for (std::size_t from = 0; from != std::string::npos; from = folder.find('/', from + 1)) {
      const std::string below = folder.substr(from);
      if (std::any_of(roots.begin(), roots.end(), [&](const auto& root) { return exists(root + below); })) {
        return true;
      }
    }
    if (std::any_of(roots.begin(), roots.end(), exists)) return true;
  }
  return false;
}

// libdwfl's whole search ends with debuginfod, whose library and the 25 below it take longer to load than
// most objects take to read. It is skipped if it cannot find more than the search by build id, which comes
// first.
bool needs_whole_search(const std::string& path, const Options& options) {
  const char* servers = std::getenv("DEBUGINFOD_URLS");
  if (servers != nullptr && servers[0] != '\0') return true;
  bool is_needed = false;
  look_into(path, [&](Elf* elf) {
    const void* build_id = nullptr;
    GElf_Word checksum = 0;
    const char* link = dwelf_elf_gnu_debuglink(elf, &checksum);
    is_needed = dwelf_elf_gnu_build_id(elf, &build_id) <= 0 ||
                is_in_search_path(path, link != nullptr ? link : file_name_of(path) + ".debug", options);
    return Match::same;
  });
  return is_needed;
}

ObjectFile open_with_dwfl(const std::string& path, const Options& options) {
  ObjectFile file;
  const std::string search = debug_search_path(options);
  file.debug_path = std::make_unique<char[]>(search.size() + 1);
  std::memcpy(file.debug_path.get(), search.c_str(), search.size() + 1);
  file.debug_path_slot = std::make_unique<char*>(file.debug_path.get());
  file.callbacks = std::make_unique<Dwfl_Callbacks>();
  file.callbacks->find_elf = dwfl_build_id_find_elf;
  file.callbacks->find_debuginfo =
      needs_whole_search(path, options) ? dwfl_standard_find_debuginfo : dwfl_build_id_find_debuginfo;
  file.callbacks->section_address = dwfl_offline_section_address;
  file.callbacks->debuginfo_path = file.debug_path_slot.get();
  file.dwfl.reset(dwfl_begin(file.callbacks.get()));
  if (file.dwfl == nullptr) return file;
  dwfl_report_begin(file.dwfl.get());
  Dwfl_Module* module = dwfl_report_offline(file.dwfl.get(), "", path.c_str(), -1);
  dwfl_report_end(file.dwfl.get(), nullptr, nullptr);
  GElf_Addr bias = 0;
  if (module == nullptr || dwfl_module_getelf(module, &bias) == nullptr) return file;
  file.module = module;
  file.bias = bias;
  return file;
}

}  // namespace

bool has_debug_info(const ObjectFile& file) {
  GElf_Addr bias = 0;
  if (has_debug_section(dwfl_module_getelf(file.module, &bias))) return true;
  // The symbols of a stripped object are searched in its debug file.
  if (dwfl_module_getsymtab(file.module) < 0) return false;
  const char* debug_file = nullptr;
  dwfl_module_info(file.module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, &debug_file);
  if (debug_file == nullptr) return false;
  bool has_section = false;
  look_into(debug_file, [&](Elf* elf) {
    has_section = has_debug_section(elf);
    return Match::same;
  });
  return has_section;
}

ObjectFile open_object(Object& object, const Options& options) {
  if (object.path.empty() || object.path.front() == '[') return {};  // [vdso] has no file
  Match best = Match::absent;
  std::string seen;
  for (const std::string& path : candidates(object, options)) {
    const Match match = look_into(path, [&](Elf* elf) { return match_elf(elf, object.build_id); });
    if (match < Match::unverified) {
      if (match > best) seen = path;
      best = std::max(best, match);
      continue;
    }
    ObjectFile file = open_with_dwfl(path, options);
    if (!file) {
      object.problem = path + " cannot be read as an ELF object: " + dwfl_errmsg(-1);
      return {};
    }
    object.used_file = path;
    return file;
  }
  object.problem = problem_of(object, best, seen);
  return {};
}

}  // namespace heapwright::symbolize
