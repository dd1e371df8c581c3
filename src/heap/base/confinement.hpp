// SPDX-License-Identifier: MIT
// What the heap's thread may do.
#pragma once

namespace heapwright::heap {

// The calling thread gains no rights through new programs, and from now on may only return pages, sleep, end,
// and stop the process with a line; every other system call is refused with EPERM. Other threads keep theirs.
// False: the kernel refuses that.
//
// Meanwhile the kernel refuses filters that the process wants for all its threads.
bool confine_thread() noexcept;

}  // namespace heapwright::heap
