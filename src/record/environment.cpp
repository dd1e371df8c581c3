// SPDX-License-Identifier: MIT
#include "record/environment.hpp"

#include <dlfcn.h>

#include "record/session_link.hpp"

namespace heapwright::record {
namespace {

const char* own_library;

}  // namespace

void find_own_library() noexcept {
  Dl_info self;
  if (dladdr(reinterpret_cast<void*>(&find_own_library), &self) != 0) own_library = self.dli_fname;
}

RecordedImages images_like_this() noexcept { return {own_library, session_text()}; }

}  // namespace heapwright::record
