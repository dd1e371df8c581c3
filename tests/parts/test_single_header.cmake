# The amalgamated small_vector needs no other header: the example compiles with it alone, and runs.
file(MAKE_DIRECTORY ${WORK}/heapwright)
execute_process(COMMAND ${PYTHON} ${PROJECT}/tools/amalgamate.py small_vector.hpp
  OUTPUT_FILE ${WORK}/heapwright/small_vector.hpp COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS ${WORK}/heapwright/small_vector.hpp left REGEX "#include \"")
if(left)
  message(FATAL_ERROR "still includes ${left}")
endif()
execute_process(COMMAND ${COMPILER} -std=c++20 -Wall -Wextra -Werror -I${WORK} ${PROJECT}/examples/parts/small_vector.cpp
  -o ${WORK}/example COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${WORK}/example COMMAND_ERROR_IS_FATAL ANY)
