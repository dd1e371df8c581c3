// SPDX-License-Identifier: MIT
#include "symbolize/object_file.hpp"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
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

Match match_file(const std::string& path, const std::string& build_id) {
  const FileDescriptor file(path);
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) return Match::absent;
  if (!S_ISREG(status.st_mode)) return Match::not_elf;
  elf_version(EV_CURRENT);
  Elf* elf = elf_begin(file.number(), ELF_C_READ_MMAP, nullptr);
  if (elf == nullptr) return Match::not_elf;
  const Match match = match_elf(elf, build_id);
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
  // A separate debug file can stand in for an object that is gone. The build
  // id becomes a path, so it must be nothing but digits.
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
             " is another build than the recorded one (build id differs): keep the recorded file, or name a "
             "folder that has it with --debug-root";
    case Match::not_elf:
      return seen + " is not an ELF program or library";
    default:
      return object.path + " is not on this machine: name a folder that has it with --debug-root";
  }
}

std::string debug_search_path(const Options& options) {
  std::string text = ":.debug";  // beside the object, and in .debug/ there
  if (!options.debug_root.empty()) text += ":" + options.debug_root + "/usr/lib/debug:" + options.debug_root;
  for (const std::string& folder : options.debug_directories) text += ":" + folder;
  return text;
}

ObjectFile open_with_dwfl(const std::string& path, const Options& options) {
  ObjectFile file;
  const std::string search = debug_search_path(options);
  file.debug_path = std::make_unique<char[]>(search.size() + 1);
  std::memcpy(file.debug_path.get(), search.c_str(), search.size() + 1);
  file.debug_path_slot = std::make_unique<char*>(file.debug_path.get());
  file.callbacks = std::make_unique<Dwfl_Callbacks>();
  file.callbacks->find_elf = dwfl_build_id_find_elf;
  file.callbacks->find_debuginfo = dwfl_standard_find_debuginfo;
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

ObjectFile open_object(Object& object, const Options& options) {
  if (object.path.empty() || object.path.front() == '[') return {};  // [vdso] has no file
  Match best = Match::absent;
  std::string seen;
  for (const std::string& path : candidates(object, options)) {
    const Match match = match_file(path, object.build_id);
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
