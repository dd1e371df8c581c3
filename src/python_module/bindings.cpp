// SPDX-License-Identifier: MIT
// length: the border in one place, field by field
// The one border to Python: maps what trace, analyze and symbolize give to
// plain Python values, and decides nothing. Only
// python/heapwright/model/native.py imports the module; _native.pyi describes it.
//
// Every call that may take long runs without the GIL. Progress callbacks take
// it back for a moment, which is also when Ctrl-C is seen.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "python_module/arrow_stream.hpp"
#include "python_module/bind_facts.hpp"
#include "python_module/event_streams.hpp"
#include "python_module/plain_table.hpp"
#include "python_module/values.hpp"
#include "symbolize/symbolize.hpp"
#include "trace/event.hpp"
#include "trace/reader.hpp"

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

template <typename Rows, typename Get>
nb::list text_list(const Rows& rows, const Get& get) {
  nb::list list;
  for (const auto& row : rows) list.append(text(get(row)));
  return list;
}

nb::dict metadata(const trace::Reader& reader) {
  const trace::Metadata& of = reader.metadata();
  nb::dict values;
  values["program"] = text(of.program);
  values["command"] = text(of.command);
  values["host"] = text(of.host);
  values["allocator"] = text(of.allocator);
  values["recorder_version"] = text(of.recorder_version);
  values["process_id"] = of.process_id;
  values["parent_process_id"] = of.parent_process_id;
  values["start_unix_ns"] = of.start_unix_ns;
  values["page_bytes"] = of.page_bytes;
  values["sample_mean_bytes"] = of.sample_mean_bytes;
  values["durations_recorded"] = of.durations_recorded;
  values["free_stacks_recorded"] = of.free_stacks_recorded;
  values["self_cost_allocation_ns"] = of.self_cost_allocation_ns;
  values["self_cost_release_ns"] = of.self_cost_release_ns;
  values["notes"] = texts(of.notes);
  values["unseen"] = texts(of.unseen);
  values["is_fork_child"] = of.is_fork_child;
  values["unrecorded_processes"] = texts(of.unrecorded_processes);
  values["children_left_alone"] = of.children_left_alone;
  values["conditions"] = texts(of.conditions);
  return values;
}

nb::dict end(const trace::Reader& reader) {
  const trace::End& of = reader.end();
  nb::dict values;
  values["reason"] = static_cast<unsigned>(of.reason);
  values["status"] = of.status;
  values["time_ns"] = of.time_ns;
  values["events"] = of.events;
  values["dropped"] = of.dropped;
  values["recorder_peak_bytes"] = of.recorder_peak_bytes;
  return values;
}

nb::dict modules(const trace::Reader& reader) {
  using trace::Module;
  const auto& rows = reader.modules();
  nb::dict table;
  table["start"] = column<std::uint64_t>(rows, [](const Module& row) { return row.start; });
  table["end"] = column<std::uint64_t>(rows, [](const Module& row) { return row.end; });
  table["bias"] = column<std::uint64_t>(rows, [](const Module& row) { return row.bias; });
  table["loaded_ns"] = column<std::uint64_t>(rows, [](const Module& row) { return row.loaded_ns; });
  table["unloaded_ns"] = column<std::uint64_t>(rows, [](const Module& row) { return row.unloaded_ns; });
  table["path"] = text_list(rows, [](const Module& row) { return row.path; });
  table["build_id"] = text_list(rows, [](const Module& row) { return row.build_id; });
  return table;
}

nb::dict threads(const trace::Reader& reader) {
  using trace::Thread;
  const auto& rows = reader.threads();
  nb::dict table;
  table["index"] = column<std::uint64_t>(rows, [](const Thread& row) { return row.index; });
  table["thread_id"] = column<std::uint64_t>(rows, [](const Thread& row) { return row.thread_id; });
  table["name"] = text_list(rows, [](const Thread& row) { return row.name; });
  table["first_ns"] = column<std::uint64_t>(rows, [](const Thread& row) { return row.first_ns; });
  table["exit_ns"] = column<std::uint64_t>(rows, [](const Thread& row) { return row.exit_ns; });
  table["events"] = column<std::uint64_t>(rows, [](const Thread& row) { return row.events; });
  table["dropped"] = column<std::uint64_t>(rows, [](const Thread& row) { return row.dropped; });
  table["waited_ns"] = column<std::uint64_t>(rows, [](const Thread& row) { return row.waited_ns; });
  return table;
}

nb::dict memory_samples(const trace::Reader& reader) {
  using trace::MemorySample;
  const auto& rows = reader.memory_samples();
  const auto put = [&rows](nb::dict& table, const char* name, auto member) {
    table[name] = column<std::uint64_t>(rows, [member](const MemorySample& row) { return row.*member; });
  };
  nb::dict table;
  put(table, "time_ns", &MemorySample::time_ns);
  put(table, "resident_anonymous_bytes", &MemorySample::resident_anonymous_bytes);
  put(table, "resident_file_bytes", &MemorySample::resident_file_bytes);
  put(table, "swapped_bytes", &MemorySample::swapped_bytes);
  put(table, "recorder_bytes", &MemorySample::recorder_bytes);
  put(table, "resident_shared_bytes", &MemorySample::resident_shared_bytes);
  return table;
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
  new (reading) SymbolReading([reader, options](const SymbolReading::Report& report) mutable {
    options.on_progress = report;
    return symbolize::symbolize(reader->modules(), reader->frames(), options);
  });
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

void bind_trace(nb::module_& module) {
  nb::class_<ReaderHandle>(module, "Reader")
      .def("metadata", [](const ReaderHandle& of) { return metadata(*of); })
      .def("end", [](const ReaderHandle& of) { return end(*of); })
      .def("modules", [](const ReaderHandle& of) { return modules(*of); })
      .def("threads", [](const ReaderHandle& of) { return threads(*of); })
      .def("memory_samples", [](const ReaderHandle& of) { return memory_samples(*of); })
      .def("stacks", [](const ReaderHandle& of) { return stacks(*of); })
      .def("frames", [](const ReaderHandle& of) { return frames(*of); })
      .def("damage", [](const ReaderHandle& of) { return damage(*of); })
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
}

// A table whose batches are read from the trace anew by each consumer.
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

// Arrow's protocol: the requested schema is a wish, and is not granted.
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
  // Asked before nanobind's own, which takes a message with a file's name in it for UTF-8.
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
  python_module::bind_facts(module);
  python_module::bind_tables(module);
  module.def("kind_names", python_module::kind_names);
}
