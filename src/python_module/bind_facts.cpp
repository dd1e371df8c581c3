// SPDX-License-Identifier: MIT
#include "python_module/bind_facts.hpp"

#include <nanobind/stl/vector.h>

#include "analyze/analyze.hpp"
#include "analyze/coverage.hpp"
#include "analyze/facts_fields.hpp"
#include "analyze/funnels.hpp"
#include "analyze/held.hpp"
#include "analyze/held_tree.hpp"
#include "analyze/mapped_memory.hpp"
#include "analyze/nested.hpp"
#include "analyze/options.hpp"
#include "analyze/stack_sites.hpp"
#include "python_module/values.hpp"

namespace heapwright::python_module {
namespace {

using FactsReading = BackgroundReading<analyze::Facts>;

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
  options.at_ns = number("at_ns");
  options.wants_activity = number("wants_activity") != 0;
  return options;
}

void begin_facts(FactsReading* reading, const ReaderHandle& reader, const nb::dict& given) {
  new (reading)
      FactsReading([reader, options = analyze_options(given)](const FactsReading::Report& report) mutable {
        options.on_progress = report;
        return analyze::analyze(*reader, options);
      });
}

// One field of the facts, by its name.
nb::object facts_value(const analyze::Facts& facts, const std::string& name) {
  nb::object found;
  fields(facts, [&](const char* field, const auto& value) {
    if (name == field) found = value_of(value);
  });
  if (!found.is_valid()) throw nb::key_error(name.c_str());
  return found;
}

template <typename Row, typename Field>
nb::bytes column_of(const std::vector<Row>& rows, const Field& field) {
  std::vector<std::uint64_t> column;
  column.reserve(rows.size());
  for (const Row& row : rows) column.push_back(static_cast<std::uint64_t>(field(row)));
  return packed(column);
}

// Kind, thread, module, variable, stack of a mapping.
nb::list roots_of(const trace::HeapGraph& graph) {
  nb::list roots;
  for (const trace::GraphRoot& root : graph.roots) {
    roots.append(nb::make_tuple(static_cast<std::uint32_t>(root.kind), root.thread_id,
                                nb::bytes(root.module.data(), root.module.size()),
                                nb::bytes(root.symbol.data(), root.symbol.size()), root.stack));
  }
  return roots;
}

// Columns of 64-bit numbers by name, and the texts of roots.
nb::dict heap_graph_of(const ReaderHandle& reader, std::uint64_t time_ns) {
  const trace::HeapGraph graph = trace::read_heap_graph(*reader, time_ns);
  const analyze::GraphSums sums = analyze::sums_of(graph);
  nb::dict found;
  found["address"] = column_of(graph.nodes, [](const auto& node) { return node.address; });
  found["size"] = column_of(graph.nodes, [](const auto& node) { return node.size; });
  found["stack"] = column_of(graph.nodes, [](const auto& node) { return node.stack; });
  found["dominator"] = packed(sums.dominator);
  found["retained_bytes"] = packed(sums.retained_bytes);
  found["from"] = column_of(graph.edges, [](const auto& edge) { return edge.from; });
  found["to"] = column_of(graph.edges, [](const auto& edge) { return edge.to; });
  found["offset"] = column_of(graph.edges, [](const auto& edge) { return edge.offset; });
  found["is_interior"] = column_of(graph.edges, [](const auto& edge) { return edge.is_interior; });
  found["type"] = packed(std::vector<std::uint64_t>(graph.type_of.begin(), graph.type_of.end()));
  found["types"] = texts(graph.types);
  found["roots"] = roots_of(graph);
  return found;
}

// Columns of 64-bit numbers by name, and the texts of roots.
nb::dict held_tree_of(const ReaderHandle& reader, std::uint64_t time_ns, const nb::bytes& site_of_stack) {
  const trace::HeapGraph graph = trace::read_heap_graph(*reader, time_ns);
  const analyze::HeldTree tree = analyze::held_tree(graph, unpacked<std::uint32_t>(site_of_stack));
  nb::dict found;
  found["parent"] = packed(tree.parent);
  found["is_site"] = packed(tree.is_site);
  found["what"] = packed(tree.what);
  found["blocks"] = packed(tree.blocks);
  found["bytes"] = packed(tree.bytes);
  found["roots"] = roots_of(graph);
  return found;
}

}  // namespace

void bind_facts(nanobind::module_& module) {
  nb::class_<FactsReading>(module, "FactsReading")
      .def("__init__", begin_facts, nb::arg("reader"), nb::arg("options"))
      .def("take", wait_for<analyze::Facts>, nb::arg("progress").none());
  nb::class_<analyze::Facts>(module, "Facts").def("value", facts_value, nb::arg("name"));
  // Of the whole run, without its calls.
  module.def("coverage_of",
             [](const ReaderHandle& reader) { return value_of(analyze::coverage_of(*reader)); });
  module.def("mapped_memory_of", [](const ReaderHandle& reader, std::uint64_t from_ns, std::uint64_t to_ns,
                                    std::size_t most_scans) {
    return value_of(analyze::mapped_memory_of(*reader, from_ns, to_ns, most_scans));
  });
  module.def("held_of", [](const ReaderHandle& reader, std::uint64_t time_ns) {
    return value_of(analyze::held_of(*reader, time_ns));
  });
  module.def("snapshot_times",
             [](const ReaderHandle& reader) { return packed(trace::heap_graph_times(*reader)); });
  module.def("heap_graph_of", heap_graph_of);
  module.def("held_tree_of", held_tree_of);
  module.def("find_funnels", [](const nb::bytes& parents, const nb::bytes& frames, const nb::bytes& kinds) {
    return analyze::find_funnels(unpacked<std::uint32_t>(parents), unpacked<std::uint32_t>(frames),
                                 unpacked<analyze::FrameKind>(kinds));
  });
  module.def("innermost_paths", [](const nb::bytes& parents, const nb::bytes& frames,
                                   const nb::bytes& path_of_frame) {
    return packed(analyze::innermost_paths(unpacked<std::uint32_t>(parents), unpacked<std::uint32_t>(frames),
                                           unpacked<std::uint32_t>(path_of_frame)));
  });
  // kinds: three numbers a frame.
  module.def("nested_stacks", [](const nb::bytes& parents, const nb::bytes& frames, const nb::bytes& kinds) {
    const auto found =
        analyze::nested_stacks(unpacked<std::uint32_t>(parents), unpacked<std::uint32_t>(frames),
                               unpacked<analyze::NestedFrame>(kinds));
    return nb::make_tuple(packed(found.function_of_stack), found.own_frames, found.own_stacks);
  });
  module.def("passages",
             [](const nb::bytes& sites, const nb::bytes& functions, const nb::bytes& allocations) {
               nb::list rows;
               for (const auto& row :
                    analyze::passages(unpacked<std::uint32_t>(sites), unpacked<std::uint32_t>(functions),
                                      unpacked<std::uint64_t>(allocations))) {
                 rows.append(nb::make_tuple(row.site, row.function, row.allocations, row.stacks));
               }
               return rows;
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
}

}  // namespace heapwright::python_module
