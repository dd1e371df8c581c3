// SPDX-License-Identifier: MIT
// The only Python bindings: they map results of trace, analyze and symbolize to plain Python values, and
// decide nothing. Only python/heapwright/model/native.py imports the module; _native.pyi describes it.
//
// Every call that may take long runs without the GIL. Progress callbacks take it briefly, which is also when
// Ctrl-C is noticed.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "python_module/arrow_stream.hpp"
#include "python_module/bind_copies.hpp"
#include "python_module/bind_counters.hpp"
#include "python_module/bind_facts.hpp"
#include "python_module/event_streams.hpp"
#include "python_module/plain_table.hpp"
#include "python_module/values.hpp"
#include "symbolize/allocated_types.hpp"
#include "symbolize/symbolize.hpp"
#include "symbolize/variable_types.hpp"
#include "trace/event.hpp"
#include "trace/kind_names.hpp"
#include "trace/reader.hpp"
#include "trace/running_trace.hpp"

namespace heapwright::python_module {
namespace {

using SymbolReading = BackgroundReading<symbolize::Symbols>;

// One member of every record as packed numbers.
template <typename T, typename Rows, typename Get>
nb::bytes column(const Rows& rows, const Get& get) {
  std::vector<T> values;
  values.reserve(rows.size());
  for (const auto& row : rows) values.push_back(static_cast<T>(get(row)));
  return packed(values);
}

nb::dict stacks(const trace::Reader& reader) {
  using trace::StackNode;
  const auto& rows = reader.stacks();
  nb::dict table;
  table["parent"] = column<std::uint32_t>(rows, [](const StackNode& row) { return row.parent; });
  table["frame"] = column<std::uint32_t>(rows, [](const StackNode& row) { return row.frame; });
  return table;
}

nb::dict frames(const trace::Reader& reader) {
  using trace::Frame;
  const auto& rows = reader.frames();
  nb::dict table;
  table["pc"] = column<std::uint64_t>(rows, [](const Frame& row) { return row.pc; });
  table["module"] = column<std::uint32_t>(rows, [](const Frame& row) { return row.module; });
  table["is_exact"] = column<std::uint32_t>(rows, [](const Frame& row) { return row.is_exact ? 1 : 0; });
  return table;
}

nb::list damage(const trace::Reader& reader) {
  nb::list list;
  for (const trace::Damage& of : reader.damage()) list.append(nb::make_tuple(of.file_offset, text(of.what)));
  return list;
}

// Inside the trace: frame, name.
nb::list types_inside(const trace::Reader& reader) {
  nb::list list;
  if (reader.names() == nullptr) return list;
  for (const trace::AllocatedType& of : reader.names()->types) {
    list.append(nb::make_tuple(of.frame, text(of.name)));
  }
  return list;
}

nb::list objects(const symbolize::Symbols& symbols) {
  nb::list list;
  for (const symbolize::Object& of : symbols.objects) {
    list.append(nb::make_tuple(text(of.path), text(of.build_id), text(of.used_file),
                               static_cast<unsigned>(of.source), text(of.problem), of.frames, of.unnamed));
  }
  return list;
}

nb::dict take_symbols(SymbolReading& reading, nb::object function) {
  const symbolize::Symbols symbols = wait_for(reading, std::move(function));
  using symbolize::Location;
  const auto& rows = symbols.locations;
  nb::dict values;
  values["strings"] = texts(symbols.strings);
  values["first_location"] = packed(symbols.first_location);
  values["function"] = column<std::uint32_t>(rows, [](const Location& row) { return row.function; });
  values["file"] = column<std::uint32_t>(rows, [](const Location& row) { return row.file; });
  values["line"] = column<std::uint32_t>(rows, [](const Location& row) { return row.line; });
  values["is_inlined"] = column<std::uint32_t>(rows, [](const Location& row) { return row.is_inlined; });
  values["object_of_module"] = packed(symbols.object_of_module);
  values["objects"] = objects(symbols);
  return values;
}

// depths: by module, see symbolize::Depth.
void begin_symbols(SymbolReading* reading, const ReaderHandle& reader, const nb::bytes& debug_root,
                   const nb::bytes& depths) {
  symbolize::Options options;
  options.debug_root = string_of(debug_root);
  options.depths = unpacked<symbolize::Depth>(depths);
  options.names = reader->names();
  options.python_frames = reader->python_frames();
  options.code_names = reader->code_names();
  new (reading) SymbolReading([reader, options](const SymbolReading::Report& report) mutable {
    options.on_progress = report;
    return symbolize::symbolize(reader->modules(), reader->frames(), options);
  });
}

symbolize::Object object_of(const nb::bytes& path, const std::string& build_id) {
  symbolize::Object object;
  object.path = string_of(path);
  object.build_id = build_id;
  return object;
}

symbolize::Options options_of(const nb::bytes& debug_root) {
  symbolize::Options options;
  options.debug_root = string_of(debug_root);
  return options;
}

// Of an object's variables, by their names; "" = not known.
nb::list variable_types(const nb::bytes& path, const std::string& build_id, const nb::bytes& debug_root,
                        const std::vector<std::string>& names) {
  symbolize::Object object = object_of(path, build_id);
  return texts(symbolize::variable_types(object, names, options_of(debug_root)));
}

// Of calls of an allocator in an object, by their return addresses in its file; "" = not known.
nb::list allocated_types(const nb::bytes& path, const std::string& build_id, const nb::bytes& debug_root,
                         const std::vector<std::uint64_t>& addresses) {
  symbolize::Object object = object_of(path, build_id);
  return texts(symbolize::allocated_types(object, addresses, options_of(debug_root)));
}

// The capsule that Arrow consumers expect from __arrow_c_stream__.
nb::object arrow_capsule(std::unique_ptr<BatchSource> source) {
  static constexpr const char* name = "arrow_array_stream";
  auto stream = std::make_unique<ArrowArrayStream>();
  export_stream(std::move(source), *stream);
  PyObject* capsule = PyCapsule_New(stream.release(), name, [](PyObject* object) {
    const std::unique_ptr<ArrowArrayStream> owned(
        static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(object, name)));
    if (owned && owned->release != nullptr) owned->release(owned.get());
  });
  return nb::steal(capsule);
}

nb::list kind_names() {
  nb::list names;
  for (std::size_t kind = 0; kind < trace::event_kind_limit; ++kind) {
    names.append(text(std::string(trace::name_of(static_cast<trace::EventKind>(kind)))));
  }
  return names;
}

nb::tuple end_running(const nb::bytes& name) {
  const std::string path = string_of(name);
  trace::RunningTrace running;
  {
    const nb::gil_scoped_release no_gil;
    running = trace::end_running(path);
  }
  return nb::make_tuple(running.whole_bytes, packed(running.end_chunk));
}

void bind_trace(nb::module_& module) {
  nb::class_<ReaderHandle>(module, "Reader")
      .def("metadata", [](const ReaderHandle& of) { return value_of(of->metadata()); })
      .def("end", [](const ReaderHandle& of) { return value_of(of->end()); })
      .def("modules", [](const ReaderHandle& of) { return value_of(of->modules()); })
      .def("threads", [](const ReaderHandle& of) { return value_of(of->threads()); })
      .def("memory_samples", [](const ReaderHandle& of) { return value_of(of->memory_samples()); })
      .def("stacks", [](const ReaderHandle& of) { return stacks(*of); })
      .def("frames", [](const ReaderHandle& of) { return frames(*of); })
      .def("damage", [](const ReaderHandle& of) { return damage(*of); })
      .def("damaged_event_chunks", [](const ReaderHandle& of) { return of->damaged_event_chunks(); })
      .def("has_names", [](const ReaderHandle& of) { return of->names() != nullptr; })
      .def("types_inside", [](const ReaderHandle& of) { return types_inside(*of); })
      .def("file_bytes", [](const ReaderHandle& of) { return of->file_bytes(); })
      .def("event_count", [](const ReaderHandle& of) { return of->event_count(); })
      .def("chunk_count", [](const ReaderHandle& of) { return of->event_chunks().size(); });
  nb::class_<SymbolReading>(module, "SymbolReading")
      .def("__init__", begin_symbols, nb::arg("reader"), nb::arg("debug_root"), nb::arg("depths"))
      .def("take", take_symbols, nb::arg("progress").none());
  module.def("open", [](const nb::bytes& name) {
    const std::string path = string_of(name);
    const nb::gil_scoped_release no_gil;
    return std::make_shared<const trace::Reader>(trace::Reader::open(path));
  });
  module.def("end_running", end_running);
  module.def("allocated_types", allocated_types);
  module.def("variable_types", variable_types);
}

// A table whose batches each consumer reads from the trace anew.
struct StreamedTable {
  ReaderHandle reader;
  SiteOfStack site_of_stack;
  StreamedTable(const ReaderHandle& of, const nb::bytes& sites)
      : reader(of),
        site_of_stack(std::make_shared<const std::vector<std::uint32_t>>(unpacked<std::uint32_t>(sites))) {}
};
struct NativeEventTable : StreamedTable {
  using StreamedTable::StreamedTable;
};
struct NativeBlockTable : StreamedTable {
  using StreamedTable::StreamedTable;
};

// Arrow's protocol: the requested schema is optional, and is ignored.
void bind_tables(nb::module_& module) {
  const auto stream_arguments = nb::arg("requested_schema") = nb::none();
  nb::class_<NativeEventTable>(module, "EventTable")
      .def(nb::init<const ReaderHandle&, const nb::bytes&>())
      .def(
          "__arrow_c_stream__",
          [](const NativeEventTable& of, const nb::object&) {
            return arrow_capsule(event_source(of.reader, of.site_of_stack));
          },
          stream_arguments);
  nb::class_<NativeBlockTable>(module, "BlockTable")
      .def(nb::init<const ReaderHandle&, const nb::bytes&>())
      .def(
          "__arrow_c_stream__",
          [](const NativeBlockTable& of, const nb::object&) {
            return arrow_capsule(block_source(of.reader, of.site_of_stack));
          },
          stream_arguments);
  nb::class_<PlainTable>(module, "PlainTable")
      .def(nb::init<>())
      .def("add_numbers",
           [](PlainTable& of, const std::string& name, const nb::bytes& values) {
             of.add_numbers(name, unpacked<std::uint64_t>(values));
           })
      .def("add_text", &PlainTable::add_text)
      .def("add_words",
           [](PlainTable& of, const std::string& name, const nb::bytes& indexes, Words words) {
             of.add_words(name, unpacked<std::uint32_t>(indexes), std::move(words));
           })
      .def(
          "__arrow_c_stream__",
          [](const PlainTable& of, const nb::object&) { return arrow_capsule(of.source()); },
          stream_arguments);
}

}  // namespace
}  // namespace heapwright::python_module

NB_MODULE(_native, module) {
  using namespace heapwright;
  namespace nb = nanobind;
  // NOLINTNEXTLINE(bugprone-unused-raii,bugprone-throw-keyword-missing): its constructor registers it
  const nb::exception<trace::TraceError> trace_error(module, "TraceError", PyExc_Exception);
  // Runs before nanobind's own translator, which assumes UTF-8 in a message that may contain a file name.
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void* type) {
        try {
          std::rethrow_exception(thrown);
        } catch (const trace::TraceError& error) {
          PyErr_SetObject(static_cast<PyObject*>(type), python_module::text(error.what()).ptr());
        }
      },
      trace_error.ptr());
  python_module::bind_trace(module);
  python_module::bind_copies(module);
  python_module::bind_facts(module);
  python_module::bind_counters(module);
  python_module::bind_tables(module);
  module.def("kind_names", python_module::kind_names);
}
