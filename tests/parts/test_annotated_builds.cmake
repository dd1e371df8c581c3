# A file that uses the parts knows nothing of the recorder's functions, unless it
# is compiled with HEAPWRIGHT_ANNOTATE=1: then they are weak, and a program
# without a recorder links and runs. Needs COMPILER, NM, HEADERS, SOURCES, WORK.
file(MAKE_DIRECTORY ${WORK})
function(compile output)
  execute_process(COMMAND ${COMPILER} -std=c++20 -I${HEADERS} ${ARGN} -c ${SOURCES}/uses_pools.cpp
    -o ${WORK}/${output} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(names_of output result)
  execute_process(COMMAND ${NM} ${WORK}/${output} OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
  set(${result} "${names}" PARENT_SCOPE)
endfunction()

foreach(options "-O0;-DHEAPWRIGHT_CHECKED=1" "-O2;-DNDEBUG")
  compile(silent.o ${options})
  names_of(silent.o silent)
  if(silent MATCHES "heapwright_annotate")
    message(FATAL_ERROR "${options}: a recorder's function is named: ${silent}")
  endif()
  compile(speaks.o ${options} -DHEAPWRIGHT_ANNOTATE=1)
  names_of(speaks.o speaks)
  foreach(function create destroy allocate free)
    if(NOT speaks MATCHES " w heapwright_annotate_pool_${function}")
      message(FATAL_ERROR "${options}: pool_${function} is not called, or not weak: ${speaks}")
    endif()
  endforeach()
  execute_process(COMMAND ${COMPILER} ${WORK}/speaks.o -o ${WORK}/speaks COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${WORK}/speaks COMMAND_ERROR_IS_FATAL ANY)
endforeach()
