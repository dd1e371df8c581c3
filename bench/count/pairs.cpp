// SPDX-License-Identifier: MIT
// Pairs of malloc and free of 16 to 527 bytes; of the last 64 blocks one goes for each that comes.
// Argument: how many pairs. Prints the processor time of a pair.
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  const long pairs = argc > 1 ? std::atol(argv[1]) : 5'000'000;
  void* kept[64] = {};
  std::uint64_t state = 88172645463325252ULL;
  timespec begin, end;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
  for (long i = 0; i < pairs; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    void*& slot = kept[state % 64];
    std::free(slot);
    slot = std::malloc(16 + (state >> 32) % 512);
  }
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
  const double ns = double(end.tv_sec - begin.tv_sec) * 1e9 + double(end.tv_nsec - begin.tv_nsec);
  std::printf("%.3f\n", ns / double(pairs));
  for (void* block : kept) std::free(block);
  return 0;
}
