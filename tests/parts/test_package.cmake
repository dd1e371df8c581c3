# Installs the parts of PROJECT below WORK and builds a program that finds them,
# by CMake and by pkg-config from the tree as it was moved elsewhere.
file(REMOVE_RECURSE ${WORK})
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${out}${err}")
  endif()
endfunction()
run(${CMAKE_COMMAND} -S ${PROJECT} -B ${WORK}/parts -DHEAPWRIGHT_PARTS_ONLY=ON)
run(${CMAKE_COMMAND} --install ${WORK}/parts --prefix ${WORK}/prefix)
file(WRITE ${WORK}/user/CMakeLists.txt
"cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES CXX)
find_package(heapwright 0.1 REQUIRED)
add_executable(user user.cpp)
target_link_libraries(user PRIVATE heapwright::parts)
add_executable(budget ${PROJECT}/examples/parts/heap_budget.cpp)
target_link_libraries(budget PRIVATE heapwright::parts)
heapwright_heap_budget_static(budget)
")
file(WRITE ${WORK}/user/user.cpp
"#include <heapwright/small_vector.hpp>
int main() { return heapwright::small_vector<int, 2>{1, 2}.is_inline() ? 0 : 1; }
")
run(${CMAKE_COMMAND} -S ${WORK}/user -B ${WORK}/user/build -DCMAKE_PREFIX_PATH=${WORK}/prefix)
run(${CMAKE_COMMAND} --build ${WORK}/user/build)
run(${WORK}/user/build/user)
run(${WORK}/user/build/budget)
file(RENAME ${WORK}/prefix ${WORK}/moved)
set(ENV{PKG_CONFIG_PATH} ${WORK}/moved/share/pkgconfig)
execute_process(COMMAND pkg-config --cflags heapwright-parts OUTPUT_VARIABLE flags
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags)
run(c++ -std=c++20 ${flags} ${WORK}/user/user.cpp -o ${WORK}/user/by_pkg_config)
run(${WORK}/user/by_pkg_config)
