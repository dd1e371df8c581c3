# Installs the heap of PROJECT below WORK; programs of another project find it by CMake and by pkg-config.
file(REMOVE_RECURSE ${WORK})
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${out}${err}")
  endif()
endfunction()
function(expect_failure text)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err)
  string(REGEX REPLACE "[ \n]+" " " err "${err}")
  string(FIND "${err}" "${text}" place)
  if(status EQUAL 0 OR place EQUAL -1)
    message(FATAL_ERROR "${ARGN} was to fail with '${text}': ${out}${err}")
  endif()
endfunction()

run(${CMAKE_COMMAND} -S ${PROJECT} -B ${WORK}/parts -DHEAPWRIGHT_PARTS_ONLY=ON)
run(${CMAKE_COMMAND} --install ${WORK}/parts --prefix ${WORK}/parts_prefix)
# Its files are compiled together: what is tested is the package.
run(${CMAKE_COMMAND} -S ${PROJECT} -B ${WORK}/heap -DHEAPWRIGHT_HEAP_ONLY=ON -DCMAKE_BUILD_TYPE=Release
  -DCMAKE_UNITY_BUILD=ON)
run(${CMAKE_COMMAND} --build ${WORK}/heap)
run(${CMAKE_COMMAND} --install ${WORK}/heap --prefix ${WORK}/first)
file(RENAME ${WORK}/first ${WORK}/prefix)  # an installed tree can be moved

# What the heap counts says that malloc is served by it.
file(WRITE ${WORK}/user/user.c
"#include <heapwright/heap.h>
#include <stdlib.h>
int main(void) {
  heapwright_heap_statistics statistics;
  void* block = malloc(1000000);
  if (block == NULL || heapwright_heap_get_statistics(NULL, &statistics) != 0) return 2;
  free(block);
  return statistics.large_bytes >= 1000000 ? 0 : 1;
}
")
file(WRITE ${WORK}/user/CMakeLists.txt
"cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES C CXX)
find_package(heapwright 1.0 REQUIRED COMPONENTS \${WANTED})
add_executable(user_shared user.c)
target_link_libraries(user_shared PRIVATE heapwright::heap)
add_executable(user_static user.c)
target_link_libraries(user_static PRIVATE heapwright::heap_static)
")
set(configure ${CMAKE_COMMAND} -S ${WORK}/user -B ${WORK}/user/build)
expect_failure("heapwright's heap is not installed here" ${configure} -DCMAKE_PREFIX_PATH=${WORK}/parts_prefix -DWANTED=heap)
file(REMOVE_RECURSE ${WORK}/user/build)
expect_failure("heapwright has no component haep" ${configure} -DCMAKE_PREFIX_PATH=${WORK}/prefix -DWANTED=haep)
file(REMOVE_RECURSE ${WORK}/user/build)
run(${configure} -DCMAKE_PREFIX_PATH=${WORK}/prefix -DWANTED=heap)
run(${CMAKE_COMMAND} --build ${WORK}/user/build)
run(${WORK}/user/build/user_shared)
run(${WORK}/user/build/user_static)

find_program(PKG_CONFIG NAMES pkg-config pkgconf REQUIRED)
file(GLOB_RECURSE description ${WORK}/prefix/heapwright.pc)
get_filename_component(folder ${description} DIRECTORY)
get_filename_component(library_folder ${folder} DIRECTORY)
execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${folder} ${PKG_CONFIG} --cflags --libs heapwright
  OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
run(cc ${WORK}/user/user.c -o ${WORK}/user/by_pkg_config ${flags} -Wl,-rpath,${library_folder})
run(${WORK}/user/by_pkg_config)
