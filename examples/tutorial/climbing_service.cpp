// SPDX-License-Identifier: MIT
// A service whose memory climbs (docs/tutorial.md).
//   climbing_service [bounded]
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

struct Session {
  std::string user;
  std::vector<int> basket;
};

struct Visit {
  std::string user;
  std::string page;
};

class Service {
 public:
  explicit Service(bool is_bounded) : is_bounded_(is_bounded) {}

  void answer(unsigned token, unsigned page) {
    load_page(page);
    auto found = sessions_.find(token);
    if (found == sessions_.end()) found = sessions_.emplace(token, open_session(token)).first;
    found->second->basket.push_back(static_cast<int>(page));
    if (page % 2 == 0) sessions_.erase(found);  // the user logs out
    if (page % 16 == 0) note_visit(token, page);
  }

 private:
  // A cache: fills once, stays as large as it is.
  void load_page(unsigned page) {
    std::unique_ptr<char[]>& text = pages_[page];
    if (!text) text = std::make_unique<char[]>(16384);
  }

  std::unique_ptr<Session> open_session(unsigned token) {
    auto session = std::make_unique<Session>();
    session->user = "user number " + std::to_string(token);
    return session;
  }

  // Who came last to which page. Without a bound nobody takes anything out.
  void note_visit(unsigned token, unsigned page) {
    auto visit = std::make_unique<Visit>();
    visit->user = "user number " + std::to_string(token);
    visit->page = "/catalogue/page-" + std::to_string(page);
    visits_.push_back(std::move(visit));
    if (is_bounded_ && visits_.size() > 1'000) visits_.erase(visits_.begin(), visits_.begin() + 500);
  }

  const bool is_bounded_;
  std::unordered_map<unsigned, std::unique_ptr<char[]>> pages_;
  std::unordered_map<unsigned, std::unique_ptr<Session>> sessions_;
  std::vector<std::unique_ptr<Visit>> visits_;
};

int main(int count, char** arguments) {
  constexpr int requests = 400'000;
  const bool is_bounded = count > 1 && std::string(arguments[1]) == "bounded";
  auto* service = new Service(is_bounded);  // ends with the process, as services do
  std::mt19937 random(1);
  for (int i = 0; i < requests; ++i) service->answer(random() % 5'000, random() % 400);
  std::printf("%d requests answered\n", requests);
}
