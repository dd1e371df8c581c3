// SPDX-License-Identifier: MIT
// Planted: each cell has a vector of its neighbours, which are six at most.
#include <cstdio>
#include <vector>

struct Cell {
  std::vector<int> neighbours;
};

[[gnu::noinline]] void link(Cell& cell, int number) {
  for (int neighbour = 0; neighbour < 3 + number % 4; ++neighbour) {
    cell.neighbours.push_back(number + neighbour);
  }
}

int main() {
  long sum = 0;
  for (int round = 0; round < 5; ++round) {
    std::vector<Cell> cells(100'000);
    for (std::size_t number = 0; number < cells.size(); ++number) {
      link(cells[number], static_cast<int>(number));
    }
    sum += cells[77].neighbours.back();
  }
  std::printf("%ld\n", sum);
}
