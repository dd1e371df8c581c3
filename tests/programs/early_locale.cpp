// SPDX-License-Identifier: MIT
// A library whose constructor makes the first allocation of the process, in
// newlocale(), which holds the lock of setlocale() meanwhile.
#include <clocale>

locale_t early_locale;

namespace {

[[gnu::constructor]] void make_locale() { early_locale = newlocale(LC_ALL_MASK, "C.UTF-8", nullptr); }

}  // namespace
