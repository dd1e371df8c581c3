// SPDX-License-Identifier: MIT
// What a snapshot needs of a process, read while it stands still, or for the most part while it runs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collect/changed_pages.hpp"
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

// Whether blocks or pointers to them may be in it, whatever it is protected by: nothing of the recorder's, of
// devices and of the kernel ([vvar]).
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
  // By path: what the dynamic linker has written to the module's thread_local_word().
  std::map<std::string, std::uint64_t> linked_words;
  std::string program;  // its path within the process
  std::shared_ptr<const RootFolder> root;
  std::unique_ptr<tracee::WordCopy> words;  // that can be pointers
  // Copied before the rest: while the process ran, for the kernel tells what changes; or while it stood
  // still, of one that runs during the rest.
  PageRanges copied;
  tracee::WordCopy::Wish wish;
};

struct ImageWish {
  bool copies_ahead = true;   // most of a large process, before it stands still
  bool is_unaligned = false;  // pointers may be at every byte
};

// What can be done before the process stands still. Throws as read_image.
ProcessImage prepare_image(std::uint32_t process_id, KnownModules modules, const ImageWish& wish);
// Throws std::runtime_error, with one line, if the process cannot be read, or the machine or the cgroups of
// the process have no room for a copy of its pointers.
void read_image(const tracee::StoppedProcess& process, ProcessImage& image);

// Of a process that stands still only for its registers, stacks and thread-local variables; and what is read
// of it when it runs again.
void read_threads(const tracee::StoppedProcess& process, ProcessImage& image);
void read_running(std::uint32_t process_id, ProcessImage& image);

}  // namespace heapwright::collect
