// SPDX-License-Identifier: MIT
// Preloaded: calls malloc_trim(0) every TRIM_EVERY_US, and after TRIM_AFTER of them writes the anonymous
// resident bytes to TRIM_FILE. With TRIM_DOES=0 it only reads them.
#include <malloc.h>
#include <pthread.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>

namespace {

long number_in(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::atol(text) : 0;
}

long resident_bytes() {
  std::FILE* const file = std::fopen("/proc/self/status", "r");
  if (file == nullptr) return 0;
  char line[256];
  long kib = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "RssAnon: %ld", &kib) == 1) break;
  }
  std::fclose(file);
  return kib * 1024;
}

void sleep_until(const timespec& begin, long us) {
  const long ns = begin.tv_nsec + us % 1'000'000 * 1000;
  const timespec until{begin.tv_sec + us / 1'000'000 + ns / 1'000'000'000, ns % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

void write_resident() {
  const long bytes = resident_bytes();
  std::FILE* const file = std::fopen(std::getenv("TRIM_FILE"), "w");
  if (file == nullptr) return;
  std::fprintf(file, "%ld\n", bytes);
  std::fclose(file);
}

void* trim(void*) {
  timespec begin;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  const long every = number_in("TRIM_EVERY_US");
  for (long done = 1; every > 0; ++done) {
    sleep_until(begin, done * every);
    if (number_in("TRIM_DOES") != 0) malloc_trim(0);
    if (done == number_in("TRIM_AFTER")) write_resident();
  }
  return nullptr;
}

[[gnu::constructor]] void start() {
  pthread_t thread;
  if (std::getenv("TRIM_FILE") != nullptr && pthread_create(&thread, nullptr, trim, nullptr) == 0) {
    pthread_detach(thread);
  }
}

}  // namespace
