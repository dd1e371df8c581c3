// SPDX-License-Identifier: MIT
// What a load reads of its own memory.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

// KiB of the process that lie in memory, those of files among them. Ends the process where the kernel does
// not say.
inline long resident_kib() {
  long size = 0;
  long resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld %ld", &size, &resident) != 2) std::abort();
  std::fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}
