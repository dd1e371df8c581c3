# Links TARGET statically with the hook of heap_budget.hpp in front of the heap.
function(heapwright_heap_budget_static target)
  target_compile_definitions(${target} PRIVATE HEAPWRIGHT_HEAP_BUDGET_WRAP)
  target_link_options(${target} PRIVATE -static)
  foreach(name malloc calloc realloc free memalign aligned_alloc posix_memalign valloc pvalloc)
    target_link_options(${target} PRIVATE -Wl,--wrap=${name})
  endforeach()
endfunction()
