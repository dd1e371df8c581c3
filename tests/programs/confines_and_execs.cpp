// SPDX-License-Identifier: MIT
// What starts programs in sandboxes does: it installs a filter, and then becomes another program.
//
//   confines_and_execs PROGRAM [ARGUMENT...]
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "say.hpp"

int main(int count, char** arguments) {
  REQUIRE(count >= 2);
  std::free(keep(std::malloc(28'005)));
  sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter{1, code};
  REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
  execv(arguments[1], arguments + 1);
  return 1;
}
