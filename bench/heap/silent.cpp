// SPDX-License-Identifier: MIT
// How much memory stays with a server that was busy and falls silent, by what it is; run by root:
//   silent root|container|nobody|later
// As root with all capabilities, with those that Docker leaves, as a user from its start on, and as one that
// it became after it was busy. 200 MB, of which 2 % stay. Prints resident KiB when busy, and 0, 2, 5 and 10 s
// after.

#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "resident.hpp"

namespace {

constexpr unsigned long of_containers = 0xa80425fb;

bool become_nobody() { return setgroups(0, nullptr) == 0 && setgid(65534) == 0 && setuid(65534) == 0; }

bool be_in_container() {
  for (unsigned long number = 0; prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0; ++number) {
    if ((of_containers >> number & 1) == 0) prctl(PR_CAPBSET_DROP, number, 0, 0, 0);
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  constexpr auto word = static_cast<unsigned>(of_containers);
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{word, word, 0}, {0, 0, 0}};
  return syscall(SYS_capset, &header, data) == 0;
}

// What a process is at its start decides what its heap may do.
bool start_as(std::string_view what) {
  if (what == "container") return be_in_container();
  return what != "nobody" || become_nobody();
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count < 2) return 2;
  const std::string_view what = arguments[1];
  if (argument_count == 2) {
    if (start_as(what)) execl("/proc/self/exe", arguments[0], arguments[1], "started", nullptr);
    return 1;
  }
  std::vector<void*> blocks(39'000);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::size_t bytes = i % 8 == 0 ? 20'000 : 3'000;
    blocks[i] = std::malloc(bytes);
    std::memset(blocks[i], 1, bytes);
  }
  std::printf("%ld", resident_kib());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i % 50 != 0) std::free(blocks[i]);
  }
  if (what == "later" && !become_nobody()) return 1;
  std::printf(" %ld", resident_kib());
  for (const unsigned seconds : {2, 3, 5}) {
    sleep(seconds);
    std::printf(" %ld", resident_kib());
  }
  std::printf("\n");
  return 0;
}
