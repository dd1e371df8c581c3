# Compiles each public header of HEADERS alone, where the compilers are there.
# heap_budget needs no exceptions to be compiled, only to be useful.
file(GLOB headers RELATIVE ${HEADERS} ${HEADERS}/heapwright/*.hpp ${HEADERS}/heapwright/*.h)
set(warnings -Wall -Wextra -Wconversion -Wshadow -Werror)
foreach(compiler g++ clang++)
  find_program(path_of_${compiler} ${compiler})
  if(NOT path_of_${compiler})
    continue()
  endif()
  foreach(header ${headers})
    foreach(options "-O0;-DHEAPWRIGHT_CHECKED=1" "-O3;-DNDEBUG;-fno-exceptions")
      set(source ${CMAKE_CURRENT_BINARY_DIR}/alone.cpp)
      file(WRITE ${source} "#include <${header}>\n")
      execute_process(COMMAND ${path_of_${compiler}} -std=c++20 ${warnings} ${options} -I${HEADERS}
        -S -o /dev/null ${source} RESULT_VARIABLE status ERROR_VARIABLE err)
      if(NOT status EQUAL 0)
        message(FATAL_ERROR "${compiler} ${options} ${header}:\n${err}")
      endif()
    endforeach()
  endforeach()
endforeach()

# Without exceptions the templates must not only parse but be compiled.
foreach(part small_vector arena object_pool buffer_cache deferred_free make_shared_private class_heap)
  execute_process(COMMAND g++ -std=c++20 ${warnings} -fno-exceptions -I${HEADERS}
    -S -o /dev/null ${HEADERS}/../examples/parts/${part}.cpp RESULT_VARIABLE status ERROR_VARIABLE err)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "-fno-exceptions ${part}:\n${err}")
  endif()
endforeach()
