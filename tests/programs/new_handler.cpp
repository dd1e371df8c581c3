// SPDX-License-Identifier: MIT
// operator new that fails, in every way out of it: a new handler that calls
// the heap itself, exceptions caught where calls go deeper again, an array
// form, a nothrow form, a handler that throws or jumps out, pthread_exit.
#include <sys/resource.h>

#include <csetjmp>
#include <cstdint>
#include <new>
#include <thread>

#include "say.hpp"

namespace {

constexpr std::size_t huge = PTRDIFF_MAX;
std::size_t volatile huge_size = huge;
void* reserve = nullptr;
int handled = 0;
std::jmp_buf way_out;

[[gnu::noinline]] void call_deep(std::size_t size, int depth) {
  if (depth > 0) {
    call_deep(size, depth - 1);
    keep(nullptr);
    return;
  }
  std::free(keep(std::malloc(size)));
  // Called from within libc.
  char text[3005] = {};
  std::memset(text, 'x', 3002);
  std::free(keep(::strdup(text)));
}

// Gives up a reserve, and makes calls of its own before and after.
void give_up_reserve() {
  ++handled;
  std::free(keep(std::malloc(3011)));
  std::free(reserve);
  ::operator delete(keep(::operator new(3013)));
  call_deep(3015, 20);
  reserve = nullptr;
  std::set_new_handler(nullptr);
}

struct HandlerError {};
void throw_error() {
  std::set_new_handler(nullptr);
  throw HandlerError{};
}
void jump_out() {
  std::set_new_handler(nullptr);
  std::free(keep(std::malloc(3017)));
  std::longjmp(way_out, 1);
}
void end_thread() {
  std::set_new_handler(nullptr);
  pthread_exit(nullptr);
}

template <typename Error, typename New>
[[gnu::noinline]] bool throws(New make) {
  try {
    keep(make());
  } catch (const Error&) {
    call_deep(3021, 40);
    return true;
  }
  return false;
}

// The second try succeeds: the handler lifts the limit that made the first fail.
rlimit no_limit;
void lift_limit() {
  std::free(keep(std::malloc(3023)));
  setrlimit(RLIMIT_AS, &no_limit);
}

void succeed_at_second_try() {
  getrlimit(RLIMIT_AS, &no_limit);
  std::free(keep(std::malloc(3019)));
  const rlimit low{1 << 20, no_limit.rlim_max};
  REQUIRE(setrlimit(RLIMIT_AS, &low) == 0);
  std::set_new_handler(lift_limit);
  ::operator delete(keep(::operator new(200'000'001)));
  std::set_new_handler(nullptr);
  say("allocated 1 3023 malloc\nreleased 1 3023 free\n");
  say("allocated 1 200000001 operator new\nreleased 1 200000001 operator delete\nallocated 0 200000001 "
      "malloc\n");
}

void fail_with_reserve() {
  reserve = keep(std::malloc(3001));
  std::set_new_handler(give_up_reserve);
  REQUIRE(throws<std::bad_alloc>([] { return ::operator new(huge_size); }));
  REQUIRE(handled == 1);
  say("allocated 1 3001 malloc\nreleased 1 3001 free\n");
  say("allocated 1 3011 malloc\nreleased 1 3011 free\n");
  say("allocated 1 3013 operator new\nreleased 1 3013 operator delete\n");
  say("allocated 1 3015 malloc\nreleased 1 3015 free\n");
}

void fail_in_other_forms() {
  REQUIRE(throws<std::bad_alloc>([] { return ::operator new[](huge_size); }));
  REQUIRE(throws<std::bad_alloc>([] { return ::operator new (huge_size, std::align_val_t{64}); }));
  REQUIRE(::operator new(huge_size, std::nothrow) == nullptr);
  call_deep(3021, 40);
  REQUIRE(::operator new[](huge_size, std::nothrow) == nullptr);
  call_deep(3021, 40);
}

void leave_by_the_handler() {
  std::set_new_handler(throw_error);
  REQUIRE(throws<HandlerError>([] { return ::operator new(huge_size); }));
  std::set_new_handler(jump_out);
  if (setjmp(way_out) == 0) keep(::operator new(huge_size));
  call_deep(3021, 40);
  std::thread([] {
    std::set_new_handler(end_thread);
    keep(::operator new(huge_size));
  }).join();
}

}  // namespace

int main() {
  fail_with_reserve();
  fail_in_other_forms();
  leave_by_the_handler();
  succeed_at_second_try();
  say("allocated 7 3021 malloc\nreleased 7 3021 free\n");
  say("allocated 8 3003 malloc\nreleased 8 3003 free\n");
  say("allocated 1 3017 malloc\nreleased 1 3017 free\n");
  say("failed 4 %zu operator new\nfailed 1 %zu operator new[]\n", huge, huge);
  say("failed 1 %zu operator new(align)\n", huge);
  say("failed 1 %zu operator new(nothrow)\nfailed 1 %zu operator new[](nothrow)\n", huge, huge);
  return 0;
}
