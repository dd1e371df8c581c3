# PROGRAM must end abnormally and say EXPECTED.
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE status)
if(status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended as if all were well")
endif()
string(FIND "${err}" "${EXPECTED}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "expected: ${EXPECTED}\nsaid: ${err}")
endif()
