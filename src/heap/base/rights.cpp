// SPDX-License-Identifier: MIT
#include "heap/base/rights.hpp"

#include <linux/capability.h>
#include <sys/auxv.h>

#include <cstdint>

#include "platform/raw_syscall.hpp"

namespace heapwright::heap {

namespace {

struct Capabilities {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]{};
};

bool has_capabilities() noexcept {
  Capabilities of_process;
  const long result = platform::raw_syscall(SYS_capget, platform::raw_argument(&of_process.header),
                                            platform::raw_argument(of_process.data));
  if (result != 0) return true;
  std::uint32_t all = 0;
  for (const auto& word : of_process.data) all |= word.effective | word.permitted;
  return all != 0;
}

}  // namespace

void give_up_rights() noexcept {
  Capabilities none;
  platform::raw_syscall(SYS_capset, platform::raw_argument(&none.header), platform::raw_argument(none.data));
}

[[gnu::weak]] bool is_thread_ended_before_changes() noexcept { return false; }

bool has_special_rights() noexcept {
  return getauxval(AT_SECURE) != 0 || getauxval(AT_UID) == 0 || getauxval(AT_EUID) == 0 || has_capabilities();
}

}  // namespace heapwright::heap
