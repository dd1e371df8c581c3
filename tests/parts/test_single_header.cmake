# Each amalgamated header needs no other; small_vector's example compiles with it alone, and runs.
file(MAKE_DIRECTORY ${WORK}/heapwright)
file(GLOB headers RELATIVE ${PROJECT}/include/heapwright ${PROJECT}/include/heapwright/*.hpp)
foreach(header ${headers})
  set(single ${WORK}/heapwright/${header})
  execute_process(COMMAND ${PYTHON} ${PROJECT}/tools/amalgamate.py ${header} OUTPUT_FILE ${single}
    COMMAND_ERROR_IS_FATAL ANY)
  file(STRINGS ${single} left REGEX "#include \"")
  if(left)
    message(FATAL_ERROR "${header} still includes ${left}")
  endif()
  foreach(annotates 0 1)
    execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only -DHEAPWRIGHT_ANNOTATE=${annotates} -include ${single}
      -x c++ /dev/null COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endforeach()
execute_process(COMMAND ${COMPILER} -std=c++20 -Wall -Wextra -Werror -I${WORK} ${PROJECT}/examples/parts/small_vector.cpp
  -o ${WORK}/example COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${WORK}/example COMMAND_ERROR_IS_FATAL ANY)
