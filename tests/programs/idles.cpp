// SPDX-License-Identifier: MIT
// Frees 50 MB of small blocks below one that stays, and then does nothing: at most argv[1] ms, and until most
// of it went back to the kernel. Says whether it did.
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int blocks = 100'000;
constexpr std::size_t block_bytes = 500;
void* freed[blocks];

long resident_pages() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  long pages = 0;
  if (file == nullptr || std::fscanf(file, "%*d %ld", &pages) != 1) std::abort();
  std::fclose(file);
  return pages;
}

}  // namespace

int main(int, char** arguments) {
  void* const warm = std::malloc(1 << 16);  // what reading a file takes
  const long before = resident_pages();
  for (void*& block : freed) block = std::memset(std::malloc(block_bytes), 1, block_bytes);
  void* const pin = std::malloc(block_bytes);
  for (void* block : freed) std::free(block);
  std::free(warm);
  const long most = before + (resident_pages() - before) / 4;
  const int waits = std::atoi(arguments[1]) / 10;
  for (int wait = 0; wait < waits && resident_pages() > most; ++wait) usleep(10'000);
  std::puts(resident_pages() > most ? "kept" : "returned");
  std::free(pin);
  return 0;
}
