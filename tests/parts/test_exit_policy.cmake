# Runs exit_policy_program under each policy; PROGRAM is its path, WATCHED is
# on when sanitizers make every policy `destroy`.
foreach(policy destroy bury quick)
  execute_process(COMMAND ${PROGRAM} ${policy} OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE status)
  if(NOT status EQUAL 7 OR NOT out MATCHES "printf\n" OR NOT out MATCHES "by cout\n"
      OR NOT out MATCHES "by wcout\n")
    message(FATAL_ERROR "${policy}: status ${status}, output lost: ${out}")
  endif()
  set(expected "")
  if(policy STREQUAL destroy OR WATCHED)
    set(expected "destroyed\nearly handler\n")
  elseif(policy STREQUAL bury)
    set(expected "early handler\n")
  endif()
  if(NOT err STREQUAL expected)
    message(FATAL_ERROR "${policy}: said \"${err}\", expected \"${expected}\"")
  endif()
endforeach()
