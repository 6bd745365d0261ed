// Turns: who may ask, and how often what the informers do not have is listed.
#include "view/page/asker.hpp"

#include <catch2/catch.hpp>

using namespace koord;
using namespace std::chrono_literals;
using view::Turns;

TEST_CASE("one question at a time") {
  Turns turns(2s);
  CHECK(turns.take());
  CHECK(!turns.take());
  turns.give_back();
  CHECK(turns.take());
}

TEST_CASE("between two lists lies a while, however fast questions come") {
  Turns turns(2s);
  const MonoTime at{1h};
  CHECK(turns.wait(at) == 0s);
  turns.lists(at);
  CHECK(turns.wait(at + 500ms) == 1500ms);
  CHECK(turns.wait(at + 500ms) == 1500ms);  // who gives up before it lists costs nobody time
  CHECK(turns.wait(at + 2s) == 0s);
  turns.lists(at + 10s);
  CHECK(turns.wait(at + 11s) == 1s);
}
