# The heap as a library that other projects link. After
#   cmake -S . -B build -DHEAPWRIGHT_HEAP_ONLY=ON && cmake --build build && cmake --install build --prefix P
# find_package(heapwright COMPONENTS heap) offers heapwright::heap (shared)
# and heapwright::heap_static, and pkg-config knows heapwright.
# A wheel holds Python's part only; behind a sanitizer there is no library.
if(HEAPWRIGHT_PYTHON OR NOT TARGET heapwright)
  return()
endif()
set_target_properties(heapwright PROPERTIES EXPORT_NAME heap)
if(HEAPWRIGHT_HEAP_ONLY)  # what others link; a build folder and the wheel only preload it
  set_target_properties(heapwright PROPERTIES SOVERSION 1)
endif()
set_target_properties(heapwright-static PROPERTIES EXPORT_NAME heap_static)
install(TARGETS heapwright heapwright-static EXPORT heapwright-heap-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT heap
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT heap)
install(FILES include/heapwright/heap.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heapwright COMPONENT heap)
install(EXPORT heapwright-heap-targets NAMESPACE heapwright:: DESTINATION ${heapwright_package_dir} COMPONENT heap)
# Relative, so that an installed tree can be moved.
file(RELATIVE_PATH heapwright_pc_prefix /x/${CMAKE_INSTALL_LIBDIR}/pkgconfig /x)
string(REGEX REPLACE "/$" "" heapwright_pc_prefix "${heapwright_pc_prefix}")
configure_file(cmake/heapwright.pc.in heapwright.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/heapwright.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT heap)
