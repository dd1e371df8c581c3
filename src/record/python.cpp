// SPDX-License-Identifier: MIT
#include "record/python.hpp"

#include <cstddef>
#include <cstring>

#include "record/process.hpp"
#include "record/session_link.hpp"
#include "unwind/find_interpreter.hpp"
#include "unwind/loaded_objects.hpp"

namespace heapwright::record {

void note_interpreter(const LoadedSymbols& object) noexcept {
  if (process.interpreter.runtime != 0) return;
  const auto find = [&](const char* name) {
    const Elf64_Sym* symbol = object.find_variable(name);
    if (symbol == nullptr) symbol = object.find_function(name);
    if (symbol == nullptr) return unwind::SymbolPlace{};
    return unwind::SymbolPlace{reinterpret_cast<std::uint64_t>(object.address_of(*symbol)), symbol->st_size};
  };
  const auto read = [](std::uint64_t address, void* to, std::size_t bytes) {
    std::memcpy(to, reinterpret_cast<const void*>(address), bytes);
    return true;
  };
  unwind::find_interpreter(find, read, process.interpreter);
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
