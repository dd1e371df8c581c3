// SPDX-License-Identifier: MIT
// Makes code, as a JIT compiler does: functions with a frame pointer, and one that only keeps the stack
// aligned, each of which calls the next one's address. Writes a map of them for perf to the file that its
// argument names, or to /tmp/perf-PID.map.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr std::size_t handle_at = 0;
constexpr std::size_t serve_at = 64;
constexpr std::size_t trampoline_at = 128;
constexpr std::size_t replaced_at = 192;

[[gnu::noinline]] void make_block() {
  auto* const volatile block = static_cast<char*>(std::malloc(4321));
  std::memset(block, 1, 4321);
}

#if defined(__x86_64__)
// push %rbp; mov %rsp, %rbp; movabs $callee, %rax; call *%rax; pop %rbp; ret
void put_framed(unsigned char* to, const void* callee) {
  const unsigned char begin[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8};
  const unsigned char end[] = {0xff, 0xd0, 0x5d, 0xc3, 0x90};
  std::memcpy(to, begin, sizeof begin);
  std::memcpy(to + sizeof begin, &callee, sizeof callee);
  std::memcpy(to + sizeof begin + sizeof callee, end, sizeof end);
}

// sub $8, %rsp; movabs $callee, %rax; call *%rax; add $8, %rsp; ret
void put_trampoline(unsigned char* to, const void* callee) {
  const unsigned char begin[] = {0x48, 0x83, 0xec, 8, 0x48, 0xb8};
  const unsigned char end[] = {0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3, 0x90};
  std::memcpy(to, begin, sizeof begin);
  std::memcpy(to + sizeof begin, &callee, sizeof callee);
  std::memcpy(to + sizeof begin + sizeof callee, end, sizeof end);
}
#endif

void write_map(const char* path, const unsigned char* code) {
  FILE* const map = std::fopen(path, "w");
  if (map == nullptr) std::exit(1);
  const auto line = [&](std::size_t at, const char* name) {
    std::fprintf(map, "%lx 40 %s\n", reinterpret_cast<unsigned long>(code + at), name);
  };
  line(handle_at, "JS:*handle /srv/server.js:14:3");
  line(serve_at, "JS:~serve /srv/server.js:20:1");
  line(trampoline_at, "py::run:/srv/app.py");
  line(replaced_at, "first");
  line(replaced_at, "second");
  std::fprintf(map, "%lx 40 half a li", reinterpret_cast<unsigned long>(code + handle_at));
  std::fclose(map);
}

}  // namespace

int main(int count, char** arguments) {
#if defined(__x86_64__)
  void* const memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  auto* const code = static_cast<unsigned char*>(memory);
  put_framed(code + handle_at, reinterpret_cast<const void*>(&make_block));
  put_framed(code + replaced_at, code + handle_at);
  put_framed(code + serve_at, code + replaced_at);
  put_trampoline(code + trampoline_at, code + serve_at);
  if (mprotect(memory, 4096, PROT_READ | PROT_EXEC) != 0) return 1;
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  write_map(count > 1 ? arguments[1] : path.c_str(), code);
  if (count > 1 && symlink(arguments[1], path.c_str()) != 0) return 1;
  void (*run)();
  void* const start = code + trampoline_at;
  std::memcpy(&run, &start, sizeof run);
  run();
  return 0;
#else
  (void)count, (void)arguments;
  make_block();
  return 77;
#endif
}
