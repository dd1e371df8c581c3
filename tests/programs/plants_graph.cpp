// SPDX-License-Identifier: MIT
// Blocks held in every way that is to be found, and blocks that are lost; prints how many it has lost.
// Argument: a scale for the numbers of blocks.
#include <sys/mman.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "heapwright/arena.hpp"

struct Node {
  Node* next = nullptr;
  Node* other = nullptr;
  std::uint64_t value = 0;
};

// Reachable to the end: never destroyed.
std::map<int, std::string*>& g_sessions = *new std::map<int, std::string*>;
Node* g_list = nullptr;
Node* g_tree = nullptr;
std::uint64_t* g_inside = nullptr;
std::uintptr_t g_tagged = 0;
void** g_mapped = nullptr;
std::function<int()>* g_function = nullptr;
thread_local Node* t_held = nullptr;

// In a list that goes through the middle of its items.
struct Hook {
  Hook* next = nullptr;
};
struct Item {
  std::uint64_t value[3] = {};
  Hook hook;
};
Hook* g_intrusive = nullptr;
// Never destroyed.
heapwright::arena& g_arena = *new heapwright::arena;
Node** g_in_arena = nullptr;
void** g_shared_memory = nullptr;
std::atomic<bool> g_is_in_register = false;

// What was written to the block stays written, even if nothing reads it.
[[gnu::always_inline]] inline Node* kept(Node* node) {
  asm volatile("" : : "r"(node) : "memory");
  return node;
}

struct Shared {
  std::shared_ptr<Shared> other;
};

[[gnu::noinline]] Node* tree(int depth) {
  if (depth == 0) return nullptr;
  Node* const node = new Node;
  node->next = tree(depth - 1);
  node->other = tree(depth - 1);
  return node;
}

[[gnu::noinline]] void hold_many(int scale) {
  for (int i = 0; i < scale; ++i) g_sessions[i] = new std::string(100, 'x');
  for (int i = 0; i < scale; ++i) g_list = new Node{g_list, nullptr, 1};
  g_tree = tree(6);
  g_inside = static_cast<std::uint64_t*>(std::malloc(800)) + 50;
  g_tagged = reinterpret_cast<std::uintptr_t>(std::malloc(48)) | 3U;
  g_mapped =
      static_cast<void**>(mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  g_mapped[1000] = std::malloc(56);
  const auto held = std::make_shared<Node>();
  g_function = new std::function<int()>([held] { return static_cast<int>(held->value); });
  t_held = new Node;
}

[[gnu::noinline]] void hold_in_odd_places(int scale) {
  for (int i = 0; i < scale; ++i) {
    auto* const item = new Item;
    item->hook.next = g_intrusive;
    g_intrusive = &item->hook;
  }
  g_in_arena = g_arena.create<Node*>(new Node);
  g_shared_memory =
      static_cast<void**>(mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  g_shared_memory[500] = std::malloc(72);
}

// A text that is stored in the string itself, to which it points.
[[gnu::noinline]] void lose_short_string() {
  [[maybe_unused]] auto* volatile text = new std::string("short");
  text = nullptr;
}

[[gnu::noinline]] void lose_one() {
  auto* volatile block = static_cast<char*>(std::malloc(40));
  block[0] = 1;
  block = nullptr;
}

[[gnu::noinline]] void lose_list(int length) {
  Node* volatile first = nullptr;
  for (int i = 0; i < length; ++i) first = kept(new Node{first, nullptr, 2});
  first = nullptr;
}

[[gnu::noinline]] void lose_ring() {
  Node* volatile one = kept(new Node);
  one->next = kept(new Node{one, nullptr, 3});
  kept(one);
  one = nullptr;
}

[[gnu::noinline]] void lose_shared() {
  const auto one = std::make_shared<Shared>();
  one->other = std::make_shared<Shared>();
  one->other->other = one;
}

// Nothing of what was called before remains on the stack.
[[gnu::noinline]] void wipe_stack() {
  volatile char room[32768];
  for (auto& byte : room) byte = 0;
}

// Never destroyed: a thread waits.
std::mutex& g_mutex = *new std::mutex;
std::condition_variable& g_told = *new std::condition_variable;
bool g_is_ready = false;

// Waits for ever: its block is held by its stack alone.
[[gnu::noinline]] void wait_with_block() {
  Node* volatile held = new Node;
  std::unique_lock lock(g_mutex);
  g_is_ready = true;
  g_told.notify_all();
  g_told.wait(lock, [&] { return held == nullptr; });
}

// Runs for ever: its blocks are held by registers alone, one by a vector's upper half.
[[gnu::noinline]] void run_with_block() {
  Node* held = new Node;
#if defined(__x86_64__)
  Node* in_vector = new Node;
  // What operator new has left in other registers and below the stack pointer is wiped.
  asm volatile(
      "movq %%rax, %%xmm9\n"
      "pslldq $8, %%xmm9\n"
      "xorl %%eax, %%eax\n"
      "leaq -128(%%rsp), %%rdi\n"
      "movl $16, %%ecx\n"
      "rep stosq\n"
      "xorl %%edx, %%edx\n"
      "xorl %%esi, %%esi\n"
      "movq %%rax, %%r8\n"
      "movq %%rax, %%r9\n"
      "movq %%rax, %%r10\n"
      "movq %%rax, %%r11\n"
      "movb $1, %1\n"
      "1: pause\n"
      "jmp 1b"
      : "+b"(held), "=m"(g_is_in_register), "+a"(in_vector)
      :
      : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm9", "memory");
#else
  asm volatile("" : "+r"(held));
  g_is_in_register = true;
  for (;;) asm volatile("" : "+r"(held));
#endif
}

int main(int, char** arguments) {
  const int scale = std::atoi(arguments[1]);
  hold_many(scale);
  hold_in_odd_places(scale);
  std::thread(run_with_block).detach();
  while (!g_is_in_register) std::this_thread::yield();
  std::thread(wait_with_block).detach();
  {
    std::unique_lock lock(g_mutex);
    g_told.wait(lock, [] { return g_is_ready; });
  }
  for (int i = 0; i < scale; ++i) lose_one();
  lose_list(scale);
  for (int i = 0; i < scale; ++i) lose_ring();
  for (int i = 0; i < scale; ++i) lose_shared();
  for (int i = 0; i < scale; ++i) lose_short_string();
  wipe_stack();
  std::printf("lost %d %d\n", 7 * scale, scale);
  return 0;
}
