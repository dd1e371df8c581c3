/* SPDX-License-Identifier: MIT */
/* Makes a known number of blocks in two threads, maps memory of its own that it keeps, rests, then makes more until its input ends.
 * MALLOC, FREE: the allocator's functions, where it is linked in under names of its own. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MALLOC
#define MALLOC malloc
#define FREE free
#endif
void* MALLOC(size_t size);
void FREE(void* block);

enum { blocks = 20000, bytes = 3001, mapped_bytes = 8 << 20, rest_us = 400000 };

static __attribute__((noinline)) char* make_block(void) {
  char* block = MALLOC(bytes);
  memset(block, 1, bytes);
  return block;
}

static __attribute__((noinline)) void make_blocks(char** kept, int count) {
  for (int i = 0; i < count; ++i) kept[i] = make_block();
}

static __attribute__((noinline)) void* map_memory(void) {
  void* memory = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(memory, 1, mapped_bytes);
  return memory;
}

static void* work(void* unused) {
  static char* kept[blocks / 2];
  make_blocks(kept, blocks / 2);
  for (int i = 0; i < blocks / 2; ++i) FREE(kept[i]);
  return unused;
}

int main(void) {
  static char* kept[blocks / 2];
  pthread_t thread;
  void* memory = map_memory();
  make_blocks(kept, blocks / 2);
  if (pthread_create(&thread, NULL, work, NULL) != 0 || pthread_join(thread, NULL) != 0) return 1;
  printf("ready\n");
  fflush(stdout);
  usleep(rest_us);
  long more = 0;
  for (char letter = 0; read(STDIN_FILENO, &letter, 1) == 1; ++more) FREE(make_block());
  printf("%ld more\n", more);
  return memory == MAP_FAILED ? 1 : 7;
}
