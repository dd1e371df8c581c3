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
#include "tracee/memory_copy.hpp"
#include "tracee/stopped_process.hpp"

namespace heapwright::collect {

// By path within the process.
using KnownModules = std::map<std::string, std::shared_ptr<const ModuleVariables>>;

// Variables of the modules that these mappings have, which takes a while for large ones.
void add_modules(const std::string& folder, const std::vector<trace::Mapping>& mappings, KnownModules& known);

// Whether blocks or pointers to them may be in it: memory of the program, and nothing of the recorder's.
bool may_hold_pointers(const trace::Mapping& mapping);
bool is_recorders(const std::string& mapping_name);
bool is_device(const std::string& mapping_name);

struct ProcessImage {
  std::vector<trace::Mapping> mappings;
  std::vector<trace::PageRun> resident;
  std::vector<tracee::StoppedThread> threads;
  KnownModules modules;
  std::unique_ptr<tracee::MemoryCopy> memory;  // nullptr: it is read where it is, as long as it stands still
};

// What can be done before the process stands still. `folder` in /proc. With a copy if the machine, and the
// cgroups of the process, have room for one.
ProcessImage prepare_image(const std::string& folder, KnownModules modules);
// Throws std::runtime_error, with one line, if the process cannot be read.
void read_image(const tracee::StoppedProcess& process, const std::string& folder, ProcessImage& image);

}  // namespace heapwright::collect
