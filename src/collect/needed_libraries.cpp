// SPDX-License-Identifier: MIT
#include "collect/needed_libraries.hpp"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <set>
#include <sstream>

namespace heapwright::collect {
namespace {

constexpr std::size_t most_libraries = 1000;
#if defined(__x86_64__)
constexpr const char* system_folders[] = {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"};
#else
constexpr const char* system_folders[] = {"/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu"};
#endif
constexpr const char* further_folders[] = {"/lib64",   "/usr/lib64",     "/lib",
                                           "/usr/lib", "/usr/local/lib", "/usr/local/lib64"};

class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    elf_version(EV_CURRENT);
    if (file_ >= 0) elf_ = elf_begin(file_, ELF_C_READ, nullptr);
  }
  ~ElfFile() {
    elf_end(elf_);
    if (file_ >= 0) close(file_);
  }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  Elf* elf() const noexcept { return elf_; }

  // nullptr: none of this type.
  Elf_Scn* section(std::uint32_t type, GElf_Shdr& header) const {
    Elf_Scn* found = nullptr;
    while (elf_ != nullptr && (found = elf_nextscn(elf_, found)) != nullptr) {
      if (gelf_getshdr(found, &header) != nullptr && header.sh_type == type) return found;
    }
    return nullptr;
  }

 private:
  int file_;
  Elf* elf_ = nullptr;
};

// What the file asks the loader for.
struct Wishes {
  std::vector<std::string> names;
  // With ':' between them. Before and after LD_LIBRARY_PATH.
  std::string rpath;
  std::string runpath;
};

Wishes wishes_of(const std::string& path) {
  Wishes wishes;
  const ElfFile file(path);
  GElf_Shdr header;
  Elf_Scn* const section = file.section(SHT_DYNAMIC, header);
  Elf_Data* const data = section != nullptr ? elf_getdata(section, nullptr) : nullptr;
  if (data == nullptr || header.sh_entsize == 0) return wishes;
  for (std::size_t index = 0; index < data->d_size / header.sh_entsize; ++index) {
    GElf_Dyn entry;
    if (gelf_getdyn(data, static_cast<int>(index), &entry) == nullptr || entry.d_tag == DT_NULL) break;
    if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_RPATH && entry.d_tag != DT_RUNPATH) continue;
    const char* const text = elf_strptr(file.elf(), header.sh_link, entry.d_un.d_val);
    if (text == nullptr) continue;
    if (entry.d_tag == DT_NEEDED) wishes.names.emplace_back(text);
    if (entry.d_tag == DT_RPATH) wishes.rpath = text;
    if (entry.d_tag == DT_RUNPATH) wishes.runpath = text;
  }
  if (!wishes.runpath.empty()) wishes.rpath.clear();  // as the loader does
  return wishes;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

void add_folders(std::vector<std::string>& to, std::string folders, const std::string& origin) {
  replace_all(folders, "$ORIGIN", origin);
  replace_all(folders, "${ORIGIN}", origin);
  std::istringstream text(folders);
  std::string folder;
  while (std::getline(text, folder, ':')) {
    if (!folder.empty()) to.push_back(folder);
  }
}

std::string find_in(const std::vector<std::string>& folders, const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  for (const std::string& folder : folders) {
    std::string path = folder + "/" + name;
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return "";
}

}  // namespace

std::vector<std::string> needed_libraries(const std::string& program, const std::string& library_path) {
  std::vector<std::string> files{program};
  std::set<std::string> seen;
  std::vector<std::string> usual(std::begin(system_folders), std::end(system_folders));
  usual.insert(usual.end(), std::begin(further_folders), std::end(further_folders));
  std::string inherited;  // DT_RPATH of the program counts for its libraries as well
  for (std::size_t index = 0; index < files.size() && files.size() < most_libraries; ++index) {
    const std::string path = files[index];
    const std::string origin = path.substr(0, path.rfind('/'));
    const Wishes wishes = wishes_of(path);
    std::vector<std::string> folders;
    add_folders(folders, wishes.rpath, origin);
    add_folders(folders, inherited, program.substr(0, program.rfind('/')));
    add_folders(folders, library_path, origin);
    add_folders(folders, wishes.runpath, origin);
    folders.insert(folders.end(), usual.begin(), usual.end());
    if (index == 0) inherited = wishes.rpath;
    for (const std::string& name : wishes.names) {
      if (!seen.insert(name).second) continue;
      const std::string found = find_in(folders, name);
      if (!found.empty()) files.push_back(found);
    }
  }
  files.erase(files.begin());
  return files;
}

bool has_symbol_table(const std::string& path) {
  GElf_Shdr header;
  return ElfFile(path).section(SHT_SYMTAB, header) != nullptr;
}

}  // namespace heapwright::collect
