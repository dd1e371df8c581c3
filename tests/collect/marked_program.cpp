// SPDX-License-Identifier: MIT
// Only looked at, never run: holds the one symbol that MARK names.
extern "C" [[gnu::used, gnu::visibility("default")]] void* MARK(unsigned long) { return nullptr; }

int main() { return 0; }
