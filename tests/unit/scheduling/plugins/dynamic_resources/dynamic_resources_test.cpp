// Claims beside kube-scheduler's: the cases of its allocator's tests, with what its allocator says of them
// where it takes pools and slices by their names, a case a line of tests/golden/scheduler/claims.jsonl. What
// selectors say of devices is part of a case.
#include <catch2/catch.hpp>

#include <fstream>
#include <string>

#include "claim_world.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/json/value.hpp"
#include "support/tsv.hpp"

namespace koord::scheduling::test {
namespace {

using namespace dynamic_resources;

void check_case(const json::Value& row) {
  ClaimWorld world;
  world.read(row);
  const Answer answer = world.ask();
  const std::string error(json::text_at(row, "error"));
  CHECK(answer.message == error);
  const bool failed = answer.kind == Answer::Kind::failed || answer.kind == Answer::Kind::failed_here;
  CHECK(failed == !error.empty());

  std::vector<std::string> expected, found;
  if (const json::Value* results = json::find(row, "results"))
    for (const json::Value& one : results->elements()) {
      const auto result = api::decode<api::AllocationResult>(one);
      REQUIRE(result.has_value());
      expected.push_back(api::encode(*result));
    }
  for (const api::AllocationResult& result : answer.results) found.push_back(api::encode(result));
  CHECK(found == expected);
  // Who asks only whether gets the same answer, without results.
  const Answer whether = world.ask(nullptr, true);
  CHECK(whether.kind == answer.kind);
  CHECK(whether.message == answer.message);
  CHECK(whether.results.empty());
  // What is tried in vain is a part of what kube-scheduler tries.
  if (const json::Value* steps = json::find(row, "steps")) CHECK(answer.steps <= steps->to_uint());
}

TEST_CASE("Claims get what kube-scheduler gives them") {
  std::ifstream in(koord::test::golden("scheduler/claims.jsonl"));
  REQUIRE(in.good());
  int cases = 0;
  for (std::string line; std::getline(in, line); ++cases) {
    const auto row = json::parse(line);
    REQUIRE(row.has_value());
    const std::string name(json::text_at(*row, "name"));
    INFO(name);
    check_case(*row);
  }
  CHECK(cases == 180);
}

}  // namespace
}  // namespace koord::scheduling::test
