// SPDX-License-Identifier: MIT
// A loadable extension of sqlite3 with one function, tag(number). With COSTLY each call allocates a block:
// the regression that gates and comparisons have to find. Declared by hand, so that no header of sqlite3 is
// needed.
#include <cstdint>
#include <cstdlib>

struct sqlite3;
struct sqlite3_context;
struct sqlite3_value;

extern "C" {
int sqlite3_create_function(sqlite3*, const char*, int, int, void*,
                            void (*)(sqlite3_context*, int, sqlite3_value**),
                            void (*)(sqlite3_context*, int, sqlite3_value**), void (*)(sqlite3_context*));
void sqlite3_result_int64(sqlite3_context*, std::int64_t);
std::int64_t sqlite3_value_int64(sqlite3_value*);

[[gnu::noinline]] void tag_row(sqlite3_context* context, int, sqlite3_value** values) {
#ifdef COSTLY
  void* volatile note = std::malloc(24);
  std::free(note);
#endif
  sqlite3_result_int64(context, sqlite3_value_int64(values[0]) % 7);
}

[[gnu::visibility("default")]] int sqlite3_extension_init(sqlite3* database, char**, const void*) {
  void* volatile name =
      std::malloc(8);  // both need the C library, or the dynamic linker would do less for one
  std::free(name);
  return sqlite3_create_function(database, "tag", 1, 1, nullptr, &tag_row, nullptr, nullptr);
}
}
