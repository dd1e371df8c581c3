// SPDX-License-Identifier: MIT
// Planted: the nodes of a document are freed one by one, all at its end.
#include <cstdio>
#include <memory>
#include <vector>

struct Expression {
  virtual ~Expression() = default;
  virtual long value() const = 0;
};
struct Literal : Expression {
  explicit Literal(long given) : number(given) {}
  long value() const override { return number; }
  long number;
};
struct Sum : Expression {
  std::unique_ptr<Expression> left, right;
  long value() const override { return left->value() + right->value(); }
};

[[gnu::noinline]] std::unique_ptr<Expression> parse_expression(int depth) {
  if (depth == 0) {
    return std::make_unique<Literal>(depth);
  }
  auto sum = std::make_unique<Sum>();
  sum->left = parse_expression(depth - 1);
  sum->right = parse_expression(depth - 1);
  return sum;
}

int main() {
  long sum = 0;
  for (int document = 0; document < 60; ++document) {
    const auto root = parse_expression(14);
    sum += root->value();
  }
  std::printf("%ld\n", sum);
}
