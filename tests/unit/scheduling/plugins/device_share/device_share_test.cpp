// Which of a machine's devices a pod gets: the lines of tests/golden/scheduler/device_allocations.txt.
#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "allocation_script.hpp"
#include "support/tsv.hpp"

namespace koord::scheduling::test {
namespace {

TEST_CASE("Machines give devices to pods as Koordinator has it") {
  std::ifstream file(koord::test::golden("scheduler/device_allocations.txt"));
  REQUIRE(file);
  AllocationScript script;
  std::string line;
  int number = 0, asked = 0;
  while (std::getline(file, line)) {
    ++number;
    if (line.empty() || line.front() == '#' || script.read(line)) continue;
    ++asked;
    CAPTURE(number, line);
    const std::size_t score = line.find(" => "), given = line.find(" => ", score + 1);
    REQUIRE(given != std::string::npos);
    const AllocationScript::Answer answer = script.ask(std::string_view(line).substr(0, score));
    CHECK(answer.given == line.substr(given + 4));
    const std::string expected = line.substr(score + 4, given - score - 4);
    if (expected != "-") CHECK(answer.score == expected);
  }
  CHECK(asked > 1500);
}

}  // namespace
}  // namespace koord::scheduling::test
