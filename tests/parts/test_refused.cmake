# What the vectors refuse at compile time says why, and what they take beside it
# compiles. Needs COMPILER, HEADERS, SOURCES, WORK.
file(MAKE_DIRECTORY ${WORK})
function(compile source)
  execute_process(COMMAND ${COMPILER} -std=c++20 -Wall -Wextra -Werror -I${HEADERS} ${ARGN} ${SOURCES}/${source}
    -o ${WORK}/program ERROR_VARIABLE words RESULT_VARIABLE status)
  set(words "${words}" PARENT_SCOPE)
  set(status ${status} PARENT_SCOPE)
endfunction()

foreach(vector small_vector compact_vector)
  compile(fancy_pointer.cpp -fsyntax-only -DVECTOR=${vector})
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${vector} refuses an allocator of plain pointers: ${words}")
  endif()
  compile(fancy_pointer.cpp -fsyntax-only -DVECTOR=${vector} -DFANCY)
  if(status EQUAL 0 OR NOT words MATCHES "needs an allocator of T whose pointer is T\\*")
    message(FATAL_ERROR "${vector} does not say that it needs plain pointers: ${words}")
  endif()
endforeach()

compile(from_range.cpp)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "std::from_range: ${words}")
endif()
execute_process(COMMAND ${WORK}/program COMMAND_ERROR_IS_FATAL ANY)
