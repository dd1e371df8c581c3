// SPDX-License-Identifier: MIT
#include "python_module/bind_counters.hpp"

#include <cstddef>

#include "counters/calls_section.hpp"
#include "counters/heap_section.hpp"

namespace heapwright::python_module {

namespace {

namespace nb = nanobind;

// A field as (offset, bytes): Python's reader has no numbers of its own.
#define HEAPWRIGHT_FIELD(fields, type, name) \
  fields[#name] = nb::make_tuple(offsetof(type, name), sizeof(type::name))

nb::dict head_fields() {
  using counters::Head;
  nb::dict fields;
  HEAPWRIGHT_FIELD(fields, Head, magic);
  HEAPWRIGHT_FIELD(fields, Head, version);
  HEAPWRIGHT_FIELD(fields, Head, page_bytes);
  HEAPWRIGHT_FIELD(fields, Head, process);
  HEAPWRIGHT_FIELD(fields, Head, generation);
  HEAPWRIGHT_FIELD(fields, Head, process_start_ticks);
  HEAPWRIGHT_FIELD(fields, Head, sequence);
  HEAPWRIGHT_FIELD(fields, Head, updated_ns);
  HEAPWRIGHT_FIELD(fields, Head, sections);
  return fields;
}

nb::dict section_fields() {
  using counters::Section;
  nb::dict fields;
  HEAPWRIGHT_FIELD(fields, Section, kind);
  HEAPWRIGHT_FIELD(fields, Section, version);
  HEAPWRIGHT_FIELD(fields, Section, offset);
  HEAPWRIGHT_FIELD(fields, Section, bytes);
  return fields;
}

nb::dict calls_fields() {
  using counters::CallsSection;
  nb::dict fields;
  HEAPWRIGHT_FIELD(fields, CallsSection, flags);
  HEAPWRIGHT_FIELD(fields, CallsSection, functions);
  HEAPWRIGHT_FIELD(fields, CallsSection, bins);
  HEAPWRIGHT_FIELD(fields, CallsSection, table_bytes);
  HEAPWRIGHT_FIELD(fields, CallsSection, tables_offset);
  HEAPWRIGHT_FIELD(fields, CallsSection, keeper);
  HEAPWRIGHT_FIELD(fields, CallsSection, keeper_start_ticks);
  HEAPWRIGHT_FIELD(fields, CallsSection, mean_stride);
  HEAPWRIGHT_FIELD(fields, CallsSection, slow_from_ns);
  HEAPWRIGHT_FIELD(fields, CallsSection, clock_ns);
  HEAPWRIGHT_FIELD(fields, CallsSection, started_ns);
  HEAPWRIGHT_FIELD(fields, CallsSection, ended_ns);
  HEAPWRIGHT_FIELD(fields, CallsSection, tables_used);
  HEAPWRIGHT_FIELD(fields, CallsSection, program);
  HEAPWRIGHT_FIELD(fields, CallsSection, allocator);
  return fields;
}

nb::dict table_fields() {
  using counters::CallTable;
  nb::dict fields;
  HEAPWRIGHT_FIELD(fields, CallTable, last_begun);
  HEAPWRIGHT_FIELD(fields, CallTable, calls);
  HEAPWRIGHT_FIELD(fields, CallTable, requested_bytes);
  HEAPWRIGHT_FIELD(fields, CallTable, usable_bytes);
  HEAPWRIGHT_FIELD(fields, CallTable, released_bytes);
  HEAPWRIGHT_FIELD(fields, CallTable, realloc_made);
  HEAPWRIGHT_FIELD(fields, CallTable, realloc_released);
  HEAPWRIGHT_FIELD(fields, CallTable, failed);
  HEAPWRIGHT_FIELD(fields, CallTable, null_releases);
  HEAPWRIGHT_FIELD(fields, CallTable, threads_begun);
  HEAPWRIGHT_FIELD(fields, CallTable, threads_ended);
  HEAPWRIGHT_FIELD(fields, CallTable, making);
  HEAPWRIGHT_FIELD(fields, CallTable, releasing);
  HEAPWRIGHT_FIELD(fields, CallTable, sizes);
  HEAPWRIGHT_FIELD(fields, CallTable, making_waits);
  HEAPWRIGHT_FIELD(fields, CallTable, releasing_waits);
  return fields;
}

nb::dict timings_fields() {
  using counters::Timings;
  nb::dict fields;
  HEAPWRIGHT_FIELD(fields, Timings, calls);
  HEAPWRIGHT_FIELD(fields, Timings, ns);
  HEAPWRIGHT_FIELD(fields, Timings, slow_calls);
  HEAPWRIGHT_FIELD(fields, Timings, slow_ns);
  HEAPWRIGHT_FIELD(fields, Timings, bins);
  return fields;
}

nb::dict heap_fields() {
  using counters::HeapSection;
  nb::dict fields;
  HEAPWRIGHT_FIELD(fields, HeapSection, page_source_lock);
  HEAPWRIGHT_FIELD(fields, HeapSection, pool_lock);
  HEAPWRIGHT_FIELD(fields, HeapSection, heap_lock);
  HEAPWRIGHT_FIELD(fields, HeapSection, committed_bytes);
  HEAPWRIGHT_FIELD(fields, HeapSection, dirty_bytes);
  HEAPWRIGHT_FIELD(fields, HeapSection, purged_bytes);
  HEAPWRIGHT_FIELD(fields, HeapSection, threads);
  HEAPWRIGHT_FIELD(fields, HeapSection, summed_reasons);
  return fields;
}

#undef HEAPWRIGHT_FIELD

nb::dict counters_layout() {
  nb::dict layout;
  layout["head"] = head_fields();
  layout["section"] = section_fields();
  layout["calls"] = calls_fields();
  layout["table"] = table_fields();
  layout["timings"] = timings_fields();
  layout["heap"] = heap_fields();
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
  constants["calls_kind"] = static_cast<std::uint32_t>(counters::SectionKind::calls);
  constants["calls_version"] = counters::calls_section_version;
  constants["calls_bytes"] = sizeof(counters::CallsSection);
  constants["table_bytes"] = sizeof(counters::CallTable);
  constants["bin_count"] = counters::bin_count;
  constants["function_count"] = counters::function_count;
  constants["max_call_tables"] = counters::max_call_tables;
  constants["has_own_malloc"] = static_cast<std::uint32_t>(counters::has_own_malloc);
  constants["is_attached"] = static_cast<std::uint32_t>(counters::is_attached);
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
