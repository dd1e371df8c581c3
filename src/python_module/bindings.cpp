// SPDX-License-Identifier: MIT
// length: the whole border in one place, field by field
// The one border to Python: maps what trace, analyze and symbolize give to
// plain Python values, and decides nothing. Only
// python/heapwright/model.py imports the module; _native.pyi describes it.
//
// Every call that may take long runs without the GIL. Progress callbacks take
// it back for a moment, which is also when Ctrl-C is seen.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analyze/coverage.hpp"
#include "analyze/facts.hpp"
#include "analyze/funnels.hpp"
#include "analyze/stack_sites.hpp"
#include "python_module/arrow_stream.hpp"
#include "python_module/background_reading.hpp"
#include "python_module/event_streams.hpp"
#include "python_module/facts_columns.hpp"
#include "python_module/plain_table.hpp"
#include "symbolize/symbolize.hpp"
#include "trace/event.hpp"
#include "trace/reader.hpp"

namespace nb = nanobind;

namespace heapwright::python_module {
namespace {

using ReaderHandle = std::shared_ptr<const trace::Reader>;
using SymbolReading = BackgroundReading<symbolize::Symbols>;
using FactsReading = BackgroundReading<analyze::Facts>;

// Paths and names of a traced program are bytes, not always UTF-8.
nb::object text(const std::string& bytes) {
  return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

// File names come as the bytes they are.
std::string string_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

nb::list texts(const std::vector<std::string>& values) {
  nb::list list;
  for (const std::string& value : values) list.append(text(value));
  return list;
}

template <typename T>
nb::bytes packed(const std::vector<T>& values) {
  return nb::bytes(values.data(), values.size() * sizeof(T));
}

template <typename T>
std::vector<T> unpacked(const nb::bytes& bytes) {
  const auto* first = reinterpret_cast<const T*>(bytes.data());
  return {first, first + bytes.size() / sizeof(T)};
}

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

// Calls the Python progress function, or only looks for Ctrl-C without one.
class Progress {
 public:
  explicit Progress(nb::object function) : function_(std::move(function)) {}
  void operator()(std::uint64_t done, std::uint64_t all) const {
    const nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!function_.is_none()) function_(done, all);
  }

 private:
  nb::object function_;
};

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

// Waits for what is being read; Ctrl-C is seen and progress told meanwhile.
template <class Result>
Result wait_for(BackgroundReading<Result>& reading, nb::object function) {
  const Progress progress(std::move(function));
  const nb::gil_scoped_release no_gil;
  while (!reading.is_done(std::chrono::milliseconds(50))) progress(reading.done(), reading.all());
  Result result = reading.take();
  progress(reading.done(), reading.all());
  return result;
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

analyze::Options analyze_options(const nb::dict& given) {
  const auto number = [&given](const char* name) { return nb::cast<std::uint64_t>(given[name]); };
  const auto bytes = [&given](const char* name) { return nb::cast<nb::bytes>(given[name]); };
  analyze::Options options;
  options.from_ns = number("from_ns");
  options.to_ns = number("to_ns");
  options.min_size_bytes = number("min_size_bytes");
  options.max_size_bytes = number("max_size_bytes");
  options.thread_chosen = unpacked<std::uint8_t>(bytes("thread_chosen"));
  options.site_of_stack = unpacked<std::uint32_t>(bytes("site_of_stack"));
  options.stack_chosen = unpacked<std::uint8_t>(bytes("stack_chosen"));
  options.timeline_points = nb::cast<std::uint32_t>(given["timeline_points"]);
  options.slowest_calls = nb::cast<std::uint32_t>(given["slowest_calls"]);
  return options;
}

void begin_facts(FactsReading* reading, const ReaderHandle& reader, const nb::dict& given) {
  new (reading)
      FactsReading([reader, options = analyze_options(given)](const FactsReading::Report& report) mutable {
        options.on_progress = report;
        return analyze::analyze(*reader, options);
      });
}

nb::dict facts_dict(const analyze::Facts& facts, const std::string& name) {
  nb::dict table;
  for (const NumberColumn& of : facts_table(facts, name)) table[of.name.c_str()] = packed(of.values);
  return table;
}

nb::dict lifetimes(const analyze::Facts& facts) {
  const analyze::LifetimeMap& of = facts.lifetimes;
  nb::dict values;
  values["size_from_bytes"] = packed(of.size_from_bytes);
  values["lifetime_from_ns"] = packed(of.lifetime_from_ns);
  values["blocks"] = packed(of.blocks);
  values["bytes"] = packed(of.bytes);
  return values;
}

void put_coverage(nb::dict& values, const analyze::Coverage& of) {
  nb::list spans;
  for (const analyze::Span& span : of.spans) spans.append(nb::make_tuple(span.from_ns, span.to_ns));
  values["coverage"] = spans;
  values["has_start"] = of.has_start;
  values["has_end"] = of.has_end;
  values["pauses"] = of.pauses;
}

// Of the whole run, without its calls.
nb::dict coverage(const trace::Reader& reader) {
  nb::dict values;
  put_coverage(values, analyze::coverage_of(reader));
  return values;
}

nb::dict completeness(const analyze::Facts& facts) {
  const analyze::Completeness& of = facts.completeness;
  nb::dict values;
  values["is_complete"] = of.is_complete;
  values["dropped"] = of.dropped;
  values["sequence_gaps"] = of.sequence_gaps;
  values["reasons"] = texts(of.reasons);
  put_coverage(values, facts.coverage);
  return values;
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
      .def("coverage", [](const ReaderHandle& of) { return coverage(*of); })
      .def("file_bytes", [](const ReaderHandle& of) { return of->file_bytes(); })
      .def("event_count", [](const ReaderHandle& of) { return of->event_count(); })
      .def("chunk_count", [](const ReaderHandle& of) { return of->event_chunks().size(); });
  nb::class_<SymbolReading>(module, "SymbolReading")
      .def("__init__", begin_symbols, nb::arg("reader"), nb::arg("debug_root"), nb::arg("depths"))
      .def("take", take_symbols, nb::arg("progress").none());
  nb::class_<FactsReading>(module, "FactsReading")
      .def("__init__", begin_facts, nb::arg("reader"), nb::arg("options"))
      .def("take", wait_for<analyze::Facts>, nb::arg("progress").none());
  module.def("open", [](const nb::bytes& name) {
    const std::string path = string_of(name);
    const nb::gil_scoped_release no_gil;
    return std::make_shared<const trace::Reader>(trace::Reader::open(path));
  });
}

void bind_facts(nb::module_& module) {
  nb::class_<analyze::Facts>(module, "Facts")
      .def("table", facts_dict, nb::arg("name"))
      .def("lifetimes", lifetimes)
      .def("completeness", completeness)
      .def("temporaries", [](const analyze::Facts& of) { return of.temporaries; })
      .def("bytes_per_event", [](const analyze::Facts& of) { return of.recorder.bytes_per_event; })
      .def("sizes", [](const analyze::Facts& of) { return packed(of.sizes.counts); })
      .def("site_sizes", [](const analyze::Facts& of,
                            std::size_t site) { return packed(of.site_details.at(site).sizes.counts); })
      .def("site_lifetimes", [](const analyze::Facts& of, std::size_t site) {
        return packed(of.site_details.at(site).lifetimes_ns.counts);
      });
  module.def("find_funnels", [](const nb::bytes& parents, const nb::bytes& frames, const nb::bytes& kinds) {
    return analyze::find_funnels(unpacked<std::uint32_t>(parents), unpacked<std::uint32_t>(frames),
                                 unpacked<analyze::FrameKind>(kinds));
  });
  module.def("innermost_paths", [](const nb::bytes& parents, const nb::bytes& frames,
                                   const nb::bytes& path_of_frame) {
    return packed(analyze::innermost_paths(unpacked<std::uint32_t>(parents), unpacked<std::uint32_t>(frames),
                                           unpacked<std::uint32_t>(path_of_frame)));
  });
  module.def("number_sites", [](const nb::bytes& path_of_stack) {
    const auto numbered = analyze::number_sites(unpacked<std::uint32_t>(path_of_stack));
    return nb::make_tuple(packed(numbered.site_of_stack), packed(numbered.first_stack));
  });
  module.attr("FUNNEL_CALLERS") = analyze::funnel_callers;
  module.attr("ALLOCATING_CALLERS") = analyze::allocating_callers;
  module.attr("FRAME_ALLOCATING") = static_cast<int>(analyze::FrameKind::allocating);
  module.attr("FRAME_NAMED") = static_cast<int>(analyze::FrameKind::named);
  module.attr("FRAME_SKIPPED") = static_cast<int>(analyze::FrameKind::skipped);
  module.attr("FRAME_UNNAMED") = static_cast<int>(analyze::FrameKind::unnamed);
  module.def("bucket_lower_bound", &analyze::Histogram::lower_bound_of, nb::arg("bucket"));
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
