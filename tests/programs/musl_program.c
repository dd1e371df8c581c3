// SPDX-License-Identifier: MIT
// Built by musl-gcc: another libc, without what glibc offers the recorder. With an argument it makes its
// calls for each line of input, and says "done".
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void* volatile last_block;

static void* keep(void* block) {
  last_block = block;
  return block;
}

static void* work(void* unused) {
  for (int i = 0; i < 50; ++i) free(keep(malloc(3001)));
  return unused;
}

// 0: done; 1: no memory.
static int make_calls(void) {
  for (int round = 0; round < 20; ++round) {
    pthread_t threads[8];
    for (int i = 0; i < 8; ++i) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
  }
  free(keep(realloc(keep(malloc(3011)), 3013)));
  free(keep(calloc(5, 603)));
  void* aligned = NULL;
  if (posix_memalign(&aligned, 64, 3017) != 0) return 1;
  free(keep(aligned));
  const pid_t child = fork();
  if (child == 0) {
    free(keep(malloc(3019)));
    _exit(0);
  }
  waitpid(child, NULL, 0);
  return 0;
}

static int make_calls_when_told(void) {
  char line[64];
  setvbuf(stdout, NULL, _IOLBF, 0);
  puts("ready");
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (make_calls() != 0) return 1;
    puts("done");
  }
  return 3;
}

int main(int count, char** words) {
  (void)words;
  if (count > 1) return make_calls_when_told();
  if (make_calls() != 0) return 1;
  puts("allocated 8000 3001 malloc\nreleased 8000 3001 free");
  puts("allocated 1 3011 malloc\nreleased 1 3011 realloc");
  puts("allocated 1 3013 realloc\nreleased 1 3013 free");
  puts("allocated 1 3015 calloc\nreleased 1 3015 free");
  puts("allocated 1 3017 posix_memalign\nreleased 1 3017 free");
  puts("allocated 1 3019 malloc\nreleased 1 3019 free");
  return 3;
}
