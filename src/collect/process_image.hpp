// SPDX-License-Identifier: MIT
// What a snapshot needs of a process, read while it stands still.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collect/module_variables.hpp"
#include "collect/page_map.hpp"
#include "trace/residency.hpp"
#include "tracee/stopped_process.hpp"
#include "tracee/word_copy.hpp"

namespace heapwright::collect {

// By path within the process.
using KnownModules = std::map<std::string, std::shared_ptr<const ModuleVariables>>;

// Variables of the modules that these mappings have, which takes a while for large ones.
void add_modules(const std::string& folder, const std::vector<trace::Mapping>& mappings, KnownModules& known);

// Whether blocks or pointers to them may be in it: memory of the program, and nothing of the recorder's.
bool may_hold_pointers(const trace::Mapping& mapping);
bool is_recorders(const std::string& mapping_name);
bool is_device(const std::string& mapping_name);

// The file system as the process sees it; stays there when the process has ended.
class RootFolder {
 public:
  explicit RootFolder(const std::string& folder);  // of the process in /proc
  ~RootFolder();
  RootFolder(const RootFolder&) = delete;
  RootFolder& operator=(const RootFolder&) = delete;

  // In front of a path within the process.
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

struct ProcessImage {
  std::vector<trace::Mapping> mappings;
  std::vector<tracee::StoppedThread> threads;
  KnownModules modules;
  std::shared_ptr<const RootFolder> root;
  std::unique_ptr<tracee::WordCopy> words;  // that can be pointers
};

// What can be done before the process stands still. `folder` in /proc.
ProcessImage prepare_image(std::uint32_t process_id, const std::string& folder, KnownModules modules);
// Throws std::runtime_error, with one line, if the process cannot be read, or the machine or the cgroups of
// the process have no room for a copy of its pointers.
void read_image(const tracee::StoppedProcess& process, const std::string& folder, ProcessImage& image);

}  // namespace heapwright::collect
