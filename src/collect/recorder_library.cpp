// SPDX-License-Identifier: MIT
#include "collect/recorder_library.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "collect/recording_outputs.hpp"

namespace heapwright::collect {

std::string absolute_library(const std::string& what, const std::string& given, const std::string& option) {
  char* real_path = realpath(given.c_str(), nullptr);
  std::string path = real_path != nullptr ? real_path : "";
  free(real_path);
  if (path.empty() || access(path.c_str(), R_OK) != 0) {
    throw UsageError(what + " '" + given + "' cannot be read (" + std::strerror(errno) +
                     "); build it or name it with " + option);
  }
  if (path.find_first_of(": \t") != std::string::npos) {
    throw UsageError("the path of " + what + " '" + path +
                     "' contains a space or a colon, which LD_PRELOAD does not allow; copy it elsewhere and "
                     "name it with " +
                     option);
  }
  return path;
}

std::string find_library(const Options& options) {
  return absolute_library("the recorder",
                          options.library_path.empty() ? beside_this_program("../lib/libheapwright-record.so")
                                                       : options.library_path,
                          "--library");
}

std::string attacher_of(const Options& options) {
  return options.attacher_path.empty() ? beside_this_program("heapwright-attach") : options.attacher_path;
}

}  // namespace heapwright::collect
