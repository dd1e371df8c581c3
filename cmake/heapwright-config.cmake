include(${CMAKE_CURRENT_LIST_DIR}/heapwright-targets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/heapwright-heap-budget.cmake)
