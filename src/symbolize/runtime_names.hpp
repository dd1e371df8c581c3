// SPDX-License-Identifier: MIT
// What runtimes call the code that they make: the function, and the place in the source where the name has
// it.
#pragma once

#include <string_view>

#include "symbolize/debug_info.hpp"

namespace heapwright::symbolize {

// "JS:*handle /srv/server.js:14:3" (V8), "py::handle:/srv/app.py" (CPython), "Lcom/shop/Cart;::add" (JVM);
// any other text is the function's name. The file is empty and the line 0 where they are not known.
SourceFrame place_in_runtime(std::string_view name);

}  // namespace heapwright::symbolize
