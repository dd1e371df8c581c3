// SPDX-License-Identifier: MIT
// Finds a CPython of a known layout among the exported symbols of a loaded object, of this process or
// another.
#pragma once

#include <algorithm>
#include <cstdint>

#include "unwind/interpreter.hpp"

namespace heapwright::unwind {

struct SymbolPlace {
  std::uint64_t address = 0;  // 0: not exported
  std::uint64_t bytes = 0;
};

// `find`: a name -> SymbolPlace; `read`: (address, to, bytes) -> whether it is there to be read.
template <typename Find, typename Read>
const python::Layout* find_layout(const SymbolPlace& runtime, const Find& find, const Read& read) {
  std::uint64_t version = 0;
  const SymbolPlace stated_version = find("Py_Version");
  if (stated_version.address != 0) {
    if (!read(stated_version.address, &version, sizeof version)) return nullptr;
  } else {
    // Of 3.11 and later alone. Before, a version is told by what it has first.
    if (find("PyObject_CallNoArgs").address != 0) version = python::version_3_9;
    if (find("PyModule_AddObjectRef").address != 0) version = python::version_3_10;
  }
  std::uint64_t words[python::most_stated_words] = {};
  const std::uint64_t bytes = std::min<std::uint64_t>(runtime.bytes, sizeof words);
  if (!read(runtime.address, words, bytes)) return nullptr;
  return python::find_layout(version, words, runtime.bytes);
}

// False: there is none. `found` has no tables yet.
template <typename Find, typename Read>
bool find_interpreter(const Find& find, const Read& read, Interpreter& found) {
  const SymbolPlace runtime = find("_PyRuntime");
  if (runtime.address == 0) return false;
  const SymbolPlace loop = find("_PyEval_EvalFrameDefault");
  const std::uint64_t own_state = find("PyGILState_GetThisThreadState").address;
  Interpreter made;
  made.code_type = find("PyCode_Type").address;
  made.text_type = find("PyUnicode_Type").address;
  made.bytes_type = find("PyBytes_Type").address;
  made.loop_begin = loop.address;
  made.loop_bytes = loop.bytes;
  made.own_thread_state = reinterpret_cast<void* (*)()>(own_state);
  const bool is_whole = made.code_type != 0 && made.text_type != 0 && made.bytes_type != 0 &&
                        made.loop_begin != 0 && own_state != 0;
  const python::Layout* const layout = is_whole ? find_layout(runtime, find, read) : nullptr;
  if (layout == nullptr) return false;
  made.layout = *layout;
  made.runtime = runtime.address;
  found = made;
  return true;
}

}  // namespace heapwright::unwind
