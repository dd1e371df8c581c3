// SPDX-License-Identifier: MIT
// Runs one program under an allocator and says what it used:
//   run_measured LIBRARY FIGURES-FILE COMMAND [ARGUMENT...]
// A small process of its own, because the peak that the kernel keeps for a
// process begins with that of the process it was forked from.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc < 4) return 125;
  const pid_t child = fork();
  if (child < 0) return 125;
  if (child == 0) {
    setenv("LD_PRELOAD", argv[1], 1);
    execvp(argv[3], argv + 3);
    _exit(126);
  }
  int status = 0;
  rusage used{};
  if (wait4(child, &status, 0, &used) != child) return 125;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  FILE* figures = std::fopen(argv[2], "w");
  if (figures == nullptr) return 125;
  std::fprintf(figures, "{\"cpu_s\":%.4f,\"peak_bytes\":%ld,\"faults\":%ld}\n",
               seconds(used.ru_utime) + seconds(used.ru_stime), used.ru_maxrss * 1024, used.ru_minflt);
  std::fclose(figures);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
