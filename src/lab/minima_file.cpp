// SPDX-License-Identifier: MIT
#include "lab/minima_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace heapwright::lab {

void fold_minima(std::string_view path, figures::MappedArray<std::uint32_t>& times) {
  const std::size_t bytes = times.size() * sizeof(std::uint32_t);
  // A command line argument: the view ends with its zero.
  const int file = open(path.data(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0) figures::refuse("--minima %s cannot be written", path.data());
  const bool is_new = status.st_size == 0;
  if (!is_new && static_cast<std::size_t>(status.st_size) != bytes) {
    figures::refuse("--minima %s is from a run with another number of operations; name a new file",
                    path.data());
  }
  if (is_new && ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    figures::refuse("no room for --minima %s", path.data());
  }
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) figures::refuse("--minima %s cannot be mapped", path.data());
  auto* minima = static_cast<std::uint32_t*>(memory);
  for (std::size_t i = 0; i < times.size(); ++i) {
    times[i] = minima[i] = is_new ? times[i] : std::min(minima[i], times[i]);
  }
  munmap(memory, bytes);
  close(file);
}

}  // namespace heapwright::lab
