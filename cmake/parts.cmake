# The parts: headers that ship alone. After
#   cmake -S . -B build -DHEAPWRIGHT_PARTS_ONLY=ON && cmake --install build --prefix P
# find_package(heapwright) offers heapwright::parts, with no Python and no
# library beyond the standard one.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
include(${CMAKE_CURRENT_LIST_DIR}/heapwright-heap-budget.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/heapwright-gate.cmake)
add_library(heapwright_parts INTERFACE)
add_library(heapwright::parts ALIAS heapwright_parts)
set_target_properties(heapwright_parts PROPERTIES EXPORT_NAME parts)
target_compile_features(heapwright_parts INTERFACE cxx_std_20)
target_include_directories(heapwright_parts INTERFACE
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# A wheel holds Python's part only.
if(HEAPWRIGHT_PYTHON OR NOT HEAPWRIGHT_INSTALL)
  return()
endif()
set(heapwright_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/heapwright)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/heapwright-config-version.cmake
  COMPATIBILITY SameMajorVersion ARCH_INDEPENDENT)
install(TARGETS heapwright_parts EXPORT heapwright-targets COMPONENT parts)
install(DIRECTORY include/heapwright TYPE INCLUDE COMPONENT parts)
install(EXPORT heapwright-targets NAMESPACE heapwright:: DESTINATION ${heapwright_package_dir} COMPONENT parts)
install(FILES cmake/heapwright-config.cmake cmake/heapwright-heap-budget.cmake cmake/heapwright-gate.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/heapwright-config-version.cmake
  DESTINATION ${heapwright_package_dir} COMPONENT parts)
# Relative, so that an installed tree can be moved; of no architecture.
file(RELATIVE_PATH heapwright_parts_pc_prefix /x/${CMAKE_INSTALL_DATADIR}/pkgconfig /x)
string(REGEX REPLACE "/$" "" heapwright_parts_pc_prefix "${heapwright_parts_pc_prefix}")
configure_file(cmake/heapwright-parts.pc.in heapwright-parts.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/heapwright-parts.pc
  DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig COMPONENT parts)
