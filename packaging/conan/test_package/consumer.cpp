// SPDX-License-Identifier: MIT
#include <heapwright/small_vector.hpp>

int main() { return heapwright::small_vector<int, 2>{1, 2}.is_inline() ? 0 : 1; }
