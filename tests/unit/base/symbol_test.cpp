// Symbol: identity, order, and a table that neither leaks nor frees too early.
#include "koord/base/symbol.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <thread>
#include <unordered_map>
#include <vector>

using koord::Symbol;

TEST_CASE("a Symbol is its text") {
  const Symbol a = "kube-system";
  const Symbol b = std::string("kube-") + "system";
  CHECK(sizeof(Symbol) == 8);
  CHECK(a == b);
  CHECK(a.view().data() == b.view().data());
  CHECK(a == "kube-system");
  CHECK("kube-system" == a);
  CHECK(a != std::string("default"));
  CHECK(Symbol() == "");
  CHECK(Symbol("").empty());
  CHECK(Symbol(std::string_view("a\0b", 3)).size() == 3);
}

TEST_CASE("Symbols sort by text and hash by identity") {
  std::map<Symbol, int> sorted{{"b", 2}, {"a", 1}, {"", 0}};
  CHECK(sorted.begin()->first.empty());
  CHECK(sorted.rbegin()->first == "b");
  CHECK(Symbol("a") < "b");
  std::unordered_map<Symbol, int> hashed{{"x", 1}};
  CHECK(hashed.contains(std::string("x")));
}

TEST_CASE("a text that nobody holds leaves the table") {
  const std::size_t before = Symbol::live();
  {
    std::vector<Symbol> pods;
    for (int i = 0; i < 1000; ++i) pods.emplace_back("pod-" + std::to_string(i));
    const std::vector<Symbol> copies = pods;
    CHECK(Symbol::live() == before + 1000);
    pods.clear();
    CHECK(Symbol::live() == before + 1000);
    CHECK(copies[7] == "pod-7");
  }
  CHECK(Symbol::live() == before);
  Symbol self = "self";
  const Symbol& alias = self;
  self = alias;
  CHECK(self == "self");
  Symbol moved = std::move(self);
  CHECK(moved == "self");
}

TEST_CASE("threads may make and drop the same text at once") {
  const std::size_t before = Symbol::live();
  std::vector<std::jthread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&wrong] {
      for (int i = 0; i < 20'000; ++i) {
        const Symbol s = i % 2 == 0 ? "even" : "odd";
        const Symbol copy = s;  // NOLINT: the copy is the point
        if (copy != (i % 2 == 0 ? "even" : "odd")) ++wrong;
      }
    });
  }
  threads.clear();
  CHECK(wrong == 0);
  CHECK(Symbol::live() == before);
}
