# A checked and an unchecked file in one program: each keeps its own parts; a
# part that passes between them does not link. Needs COMPILER, HEADERS, SOURCES, WORK.
file(MAKE_DIRECTORY ${WORK})
function(compile source output)
  execute_process(COMMAND ${COMPILER} -std=c++20 -O0 -I${HEADERS} ${ARGN} -c ${SOURCES}/${source} -o ${WORK}/${output}
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(link_them expected)
  execute_process(COMMAND ${COMPILER} ${ARGN} -o ${WORK}/mixed ERROR_VARIABLE words RESULT_VARIABLE status
    WORKING_DIRECTORY ${WORK})
  if(expected STREQUAL "links")
    if(NOT status EQUAL 0)
      message(FATAL_ERROR "does not link: ${words}")
    endif()
    execute_process(COMMAND ${WORK}/mixed COMMAND_ERROR_IS_FATAL ANY)
  elseif(status EQUAL 0 OR NOT words MATCHES "undefined reference to .fill")
    message(FATAL_ERROR "links a part of two builds: ${words}")
  endif()
endfunction()

compile(checked.cpp checked.o -DHEAPWRIGHT_CHECKED=1)
compile(unchecked.cpp unchecked.o -DNDEBUG)
link_them(links checked.o unchecked.o)
link_them(links unchecked.o checked.o)
# A part, and a class that holds one and lies in the same namespace.
foreach(shared PART HOLDER)
  compile(checked.cpp shares.o -DHEAPWRIGHT_CHECKED=1 -DSHARES_A_${shared})
  compile(unchecked.cpp offers.o -DNDEBUG -DSHARES_A_${shared})
  compile(unchecked.cpp offers_checked.o -DHEAPWRIGHT_CHECKED=1 -DSHARES_A_${shared})
  link_them(fails shares.o offers.o)
  link_them(links shares.o offers_checked.o)
endforeach()
