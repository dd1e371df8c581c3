include(${CMAKE_CURRENT_LIST_DIR}/heapwright-targets.cmake)
