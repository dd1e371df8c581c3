// SPDX-License-Identifier: MIT
#include "python_module/bind_copies.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python_module/values.hpp"
#include "trace/copies.hpp"

namespace heapwright::python_module {
namespace {

using Texts = std::vector<std::string>;

trace::EmbeddedNames names_of(const nb::dict& given) {
  const auto numbers = [&given](const char* name) {
    return unpacked<std::uint32_t>(nb::cast<nb::bytes>(given[name]));
  };
  trace::EmbeddedNames names;
  names.strings = nb::cast<Texts>(given["strings"]);
  names.first_location = numbers("first_location");
  const auto function = numbers("function");
  const auto file = numbers("file");
  const auto line = numbers("line");
  const auto is_inlined = numbers("is_inlined");
  for (std::size_t i = 0; i < function.size(); ++i) {
    names.locations.push_back({function[i], file.at(i), line.at(i), is_inlined.at(i)});
  }
  for (const nb::handle& object : nb::cast<nb::list>(given["objects"])) {
    const auto of = nb::cast<nb::tuple>(object);
    names.objects.push_back(
        {nb::cast<std::uint32_t>(of[0]), nb::cast<std::uint32_t>(of[1]), nb::cast<std::string>(of[2])});
  }
  for (const nb::handle& type : nb::cast<nb::list>(given["types"])) {
    const auto of = nb::cast<nb::tuple>(type);
    names.types.push_back({nb::cast<std::uint32_t>(of[0]), nb::cast<std::string>(of[1])});
  }
  return names;
}

template <typename Record>
Record record_of(const nb::dict& given) {
  Record record;
  fields(record, [&given](const char* name, auto& value) {
    value = nb::cast<std::remove_cvref_t<decltype(value)>>(given[name]);
  });
  return record;
}

std::function<std::string(std::string)> calling(const nb::object& function) {
  return [&function](const std::string& name) {
    const nb::gil_scoped_acquire gil;
    return nb::cast<std::string>(function(text(name)));
  };
}

int write_named_copy(const ReaderHandle& reader, const nb::dict& names, const nb::bytes& path,
                     nb::object progress) {
  const trace::EmbeddedNames given = names_of(names);
  const std::string name = string_of(path);
  const Progress report(std::move(progress));
  const nb::gil_scoped_release no_gil;
  return trace::write_named_copy(*reader, given, name, report);
}

int write_unnamed_copy(const ReaderHandle& reader, const nb::dict& names, const nb::dict& given,
                       const nb::bytes& path, nb::object progress) {
  const auto texts_of = [&given](const char* name) { return nb::cast<Texts>(given[name]); };
  const nb::object named = given["named"];
  const nb::object said = given["said"];
  const trace::Replacements replacements{
      .metadata = record_of<trace::Metadata>(given["metadata"]),
      .module_paths = texts_of("module_paths"),
      .build_ids = texts_of("build_ids"),
      .thread_names = texts_of("thread_names"),
      .pcs = unpacked<std::uint64_t>(nb::cast<nb::bytes>(given["pcs"])),
      .named = calling(named),
      .said = calling(said),
  };
  const trace::EmbeddedNames own_names = names_of(names);
  const std::string name = string_of(path);
  const Progress report(std::move(progress));
  const nb::gil_scoped_release no_gil;
  return trace::write_unnamed_copy(*reader, own_names, replacements, name, report);
}

}  // namespace

void bind_copies(nanobind::module_& module) {
  module.def("write_named_copy", write_named_copy, nb::arg("reader"), nb::arg("names"), nb::arg("path"),
             nb::arg("progress").none());
  module.def("write_unnamed_copy", write_unnamed_copy, nb::arg("reader"), nb::arg("names"),
             nb::arg("replacements"), nb::arg("path"), nb::arg("progress").none());
}

}  // namespace heapwright::python_module
