# Compiles each public header below HEADERS alone with COMPILER and OPTIONS,
# then, so that the templates are not only parsed, all examples but that of
# heap_budget, whose failure injection throws. C headers are compiled as C, too.
separate_arguments(options UNIX_COMMAND "${OPTIONS}")
find_program(path_of_compiler ${COMPILER})
if(NOT path_of_compiler)
  message(FATAL_ERROR "no ${COMPILER}: type tools/setup.sh test")
endif()
set(warnings -Wall -Wextra -Wconversion -Wshadow -Werror)
if(COMPILER MATCHES "clang" AND OPTIONS MATCHES "-O0")
  # All but: older standards, layout, what headers alone cannot avoid, the sanitizers' own names.
  set(strict -Weverything -Wno-c++98-compat -Wno-c++98-compat-pedantic -Wno-c++20-compat -Wno-padded
    -Wno-weak-vtables -Wno-reserved-identifier)
elseif(COMPILER MATCHES "^g[+][+]")
  set(strict -Wuseless-cast)
endif()

# clang says all it has to say before it makes code; g++ does so when it does not optimize.
set(output -S -o /dev/null)
if(COMPILER MATCHES "clang" OR OPTIONS MATCHES "-O0")
  set(output -fsyntax-only)
endif()

function(compile what standard)
  execute_process(COMMAND ${path_of_compiler} -std=${standard} ${warnings} ${options} -I${HEADERS}
    ${output} ${ARGN} RESULT_VARIABLE status ERROR_VARIABLE err)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${COMPILER} ${OPTIONS} ${what}:\n${err}")
  endif()
endfunction()

file(GLOB headers RELATIVE ${HEADERS} ${HEADERS}/heapwright/*.hpp ${HEADERS}/heapwright/*.h)
file(MAKE_DIRECTORY ${WORK})
set(all "")
foreach(header ${headers})
  get_filename_component(name ${header} NAME)
  string(APPEND all "#include <${header}>\n")
  # What a header includes depends neither on exceptions nor on the level: otherwise all are compiled together below.
  if(OPTIONS MATCHES "-O0.*-fexceptions")
    file(WRITE ${WORK}/${name}.cpp "#include <${header}>\n")
    compile(${header} c++20 ${WORK}/${name}.cpp)
  endif()
  if(header MATCHES "\\.h$")
    file(WRITE ${WORK}/${name}.c "#include <${header}>\nint nothing;\n")
    compile(${header} c11 -x c ${WORK}/${name}.c)
  endif()
endforeach()
file(WRITE ${WORK}/all.cpp "${all}")
compile("all headers" c++20 ${WORK}/all.cpp ${strict})
file(WRITE ${WORK}/hook.cpp
  "#define HEAPWRIGHT_HEAP_BUDGET_IMPLEMENTATION\n#include <heapwright/heap_budget.hpp>\n")
compile("heap_budget.hpp with its hook" c++20 ${WORK}/hook.cpp)

if(OPTIONS MATCHES "-O0.*-fno-exceptions")
  return()  # the others leave nothing for this one to find
endif()
file(GLOB examples ${HEADERS}/../examples/parts/*.cpp)
list(FILTER examples EXCLUDE REGEX heap_budget)
set(all "")
foreach(example ${examples})  # as one text, since what they include is most of the work
  get_filename_component(name ${example} NAME_WE)
  string(APPEND all "#define main main_of_${name}\n#include \"${example}\"\n#undef main\n")
endforeach()
file(WRITE ${WORK}/examples.cpp "${all}")
# main() needs neither a return nor, where g++ has no such warning, a declaration.
set(of_main -Wno-return-type)
if(COMPILER MATCHES "clang")
  list(APPEND of_main -Wno-missing-prototypes)
endif()
compile("all examples" c++20 ${WORK}/examples.cpp ${strict} ${of_main})
