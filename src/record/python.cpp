// SPDX-License-Identifier: MIT
#include "record/python.hpp"

#include <cstddef>
#include <cstring>

#include "record/process.hpp"
#include "record/session_link.hpp"
#include "unwind/loaded_objects.hpp"

namespace heapwright::record {
namespace {

std::uint64_t address_of(const LoadedSymbols& object, const char* name) noexcept {
  const Elf64_Sym* const symbol = object.find_variable(name);
  return symbol == nullptr ? 0 : reinterpret_cast<std::uint64_t>(object.address_of(*symbol));
}

const unwind::python::Layout* layout_of(const LoadedSymbols& object, const Elf64_Sym& runtime) noexcept {
  // A constant of 3.11 and later.
  const std::uint64_t version = address_of(object, "Py_Version");
  if (version == 0) return nullptr;
  unsigned long value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(version), sizeof value);
  const auto* const words = static_cast<const std::uint64_t*>(object.address_of(runtime));
  return unwind::python::find_layout(value, words, runtime.st_size);
}

}  // namespace

void note_interpreter(const LoadedSymbols& object) noexcept {
  unwind::Interpreter& found = process.interpreter;
  if (found.runtime != 0) return;
  const Elf64_Sym* const runtime = object.find_variable("_PyRuntime");
  const Elf64_Sym* const own_state = object.find_function("PyGILState_GetThisThreadState");
  if (runtime == nullptr || own_state == nullptr) return;
  const unwind::python::Layout* const layout = layout_of(object, *runtime);
  if (layout == nullptr) return;
  found.layout = *layout;
  found.code_type = address_of(object, "PyCode_Type");
  found.text_type = address_of(object, "PyUnicode_Type");
  found.bytes_type = address_of(object, "PyBytes_Type");
  if (found.code_type == 0 || found.text_type == 0 || found.bytes_type == 0) return;
  found.own_thread_state = reinterpret_cast<void* (*)()>(object.address_of(*own_state));
  found.runtime = reinterpret_cast<std::uint64_t>(object.address_of(*runtime));
}

void use_interpreter() noexcept {
  unwind::Interpreter& found = process.interpreter;
  const bool is_wanted = process.stacks && (process.control->flags & session::skip_python) == 0;
  if (found.runtime == 0 || !is_wanted || is_confined()) return;
  if (found.own_tables() != nullptr) return;
  void* const memory =
      map_after(process.block, offsetof(session::ProcessBlock, python), sizeof(session::PythonTables));
  if (memory == nullptr) return;
  session::PythonTables* expected = nullptr;
  auto* const tables = static_cast<session::PythonTables*>(memory);
  if (__atomic_compare_exchange_n(&found.tables, &expected, tables, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_RELAXED)) {
    unwind::announce_interpreter();
  } else {
    unmap_part(memory, sizeof(session::PythonTables));  // another thread was first
  }
}

void forget_interpreter_tables() noexcept {
  __atomic_store_n(&process.interpreter.tables, nullptr, __ATOMIC_RELAXED);
}

}  // namespace heapwright::record
