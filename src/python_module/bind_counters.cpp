// SPDX-License-Identifier: MIT
#include "python_module/bind_counters.hpp"

#include "counters/counters_fields.hpp"

namespace heapwright::python_module {

namespace {

namespace nb = nanobind;

// Each field as (offset, bytes), so that Python's reader has no offsets of its own.
template <typename Struct>
nb::dict layout_of() {
  nb::dict layout;
  const Struct of{};
  const auto* const begin = reinterpret_cast<const char*>(&of);
  fields(of, [&](const char* name, const auto& member) {
    layout[name] = nb::make_tuple(reinterpret_cast<const char*>(&member) - begin, sizeof(member));
  });
  return layout;
}

nb::dict counters_layout() {
  nb::dict layout;
  layout["head"] = layout_of<counters::Head>();
  layout["section"] = layout_of<counters::Section>();
  layout["calls"] = layout_of<counters::CallsSection>();
  layout["table"] = layout_of<counters::CallTable>();
  layout["timings"] = layout_of<counters::Timings>();
  layout["heap"] = layout_of<counters::HeapSection>();
  layout["remedies"] = layout_of<counters::RemediesSection>();
  layout["remedy"] = layout_of<counters::RemedyCounters>();
  layout["contexts"] = layout_of<counters::ContextsSection>();
  layout["context"] = layout_of<counters::ContextRow>();
  layout["context_sums"] = layout_of<counters::ContextSums>();
  return layout;
}

nb::dict counters_constants() {
  nb::dict constants;
  constants["magic"] = counters::page_magic;
  constants["head_version"] = counters::head_version;
  constants["head_bytes"] = sizeof(counters::Head);
  constants["section_bytes"] = sizeof(counters::Section);
  constants["max_sections"] = counters::max_sections;
  constants["heap_kind"] = static_cast<std::uint32_t>(counters::SectionKind::heap);
  constants["heap_version"] = counters::heap_section_version;
  constants["heap_bytes"] = sizeof(counters::HeapSection);
  constants["remote_free"] = static_cast<std::uint32_t>(counters::Reason::remote_free);
  constants["remedies_kind"] = static_cast<std::uint32_t>(counters::SectionKind::remedies);
  constants["remedies_version"] = counters::remedies_section_version;
  constants["remedies_bytes"] = sizeof(counters::RemediesSection);
  constants["remedy_bytes"] = sizeof(counters::RemedyCounters);
  constants["most_remedy_rows"] = counters::most_remedy_rows;
  constants["contexts_kind"] = static_cast<std::uint32_t>(counters::SectionKind::contexts);
  constants["contexts_version"] = counters::contexts_section_version;
  constants["contexts_bytes"] = sizeof(counters::ContextsSection);
  constants["context_bytes"] = sizeof(counters::ContextRow);
  constants["most_context_rows"] = counters::context_rows;
  constants["context_named"] = static_cast<std::uint32_t>(counters::context_named);
  constants["calls_kind"] = static_cast<std::uint32_t>(counters::SectionKind::calls);
  constants["calls_version"] = counters::calls_section_version;
  constants["calls_bytes"] = sizeof(counters::CallsSection);
  constants["table_bytes"] = sizeof(counters::CallTable);
  constants["bin_count"] = counters::bin_count;
  constants["time_bin_count"] = counters::time_bin_count;
  constants["lock_bin_count"] = counters::lock_bin_count;
  constants["function_count"] = counters::function_count;
  constants["max_call_tables"] = counters::max_call_tables;
  constants["has_own_malloc"] = static_cast<std::uint32_t>(counters::has_own_malloc);
  constants["is_attached"] = static_cast<std::uint32_t>(counters::is_attached);
  constants["is_patched"] = static_cast<std::uint32_t>(counters::is_patched);
  constants["has_unknown_usable"] = static_cast<std::uint32_t>(counters::has_unknown_usable);
  return constants;
}

}  // namespace

void bind_counters(nb::module_& module) {
  module.def("counters_layout", &counters_layout);
  module.def("counters_constants", &counters_constants);
  module.def("counters_bin_of", &counters::bin_of);
}

}  // namespace heapwright::python_module
