// SPDX-License-Identifier: MIT
// refault_echo MESSAGES: a fresh buffer of 1 MiB for each step of a message, three of which overlap. The C
// library gives the heap's end back after each, and the next message takes it again. Says its own page
// faults.
#include <sys/resource.h>

#include <vector>

#include "say.hpp"

namespace {

using Bytes = std::vector<char>;

[[gnu::noinline]] Bytes take_payload(const Bytes& wire) { return Bytes(wire.begin(), wire.end()); }

[[gnu::noinline]] Bytes serialize(const Bytes& in) {
  Bytes out(in);
  out[0] = 1;
  return out;
}

[[gnu::noinline]] char round_trip(const Bytes& wire) {
  const Bytes request = take_payload(wire);
  const Bytes message = serialize(request);
  const Bytes reply = serialize(message);
  return reply[reply.size() / 2];
}

long faults_until_now() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_minflt;
}

}  // namespace

int main(int argc, char** argv) {
  const int messages = argc > 1 ? std::atoi(argv[1]) : 400;
  const Bytes wire(1 << 20, 'a');
  const long before = faults_until_now();
  volatile char sink = 0;
  for (int i = 0; i < messages; ++i) sink = round_trip(wire);
  say("note faults %ld\n", faults_until_now() - before);
  return sink == 'a' ? 0 : 1;
}
