// SPDX-License-Identifier: MIT
// LD_PRELOAD for the programs that a program executes, and not for itself: the program is started with a
// variable of another name, which is renamed once its loader has read the environment.
#pragma once

#include <sys/types.h>

#include <string>

namespace heapwright::collect {

// In this process's environment, for the program that is started next.
void prepare_later_preload(const std::string& library);

// In this process's environment instead, for the program that it executes now.
void begin_preload_here();

// In the environment that the kernel gave a program, which is held at its start. False: it cannot be written.
bool begin_later_preload(pid_t process);

}  // namespace heapwright::collect
