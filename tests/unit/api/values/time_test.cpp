// Time, MicroTime and Duration against a table printed by Go (tests/golden/time.tsv).
#include "koord/api/values/time.hpp"

#include <catch2/catch.hpp>

#include "support/tsv.hpp"

using namespace koord::api;

namespace {

template <class T>
void check(const std::vector<std::string>& row, bool error) {
  const auto parsed = T::parse(row[1]);
  REQUIRE(parsed.has_error() == error);
  if (error) {
    CHECK(parsed.error().message() == row[2]);
  } else {
    CHECK(parsed->to_string() == row.back());
  }
}

}  // namespace

TEST_CASE("times agree with Go") {
  const auto rows = koord::test::read_tsv(koord::test::golden("time.tsv"));
  REQUIRE(rows.size() > 200);
  for (const auto& row : rows) {
    INFO(row[0] << " " << row[1]);
    const bool error = row[0].ends_with("-error");
    if (row[0].starts_with("time")) check<Time>(row, error);
    if (row[0].starts_with("micro")) check<MicroTime>(row, error);
    if (row[0].starts_with("duration")) {
      check<Duration>(row, error);
      if (!error) CHECK(std::to_string(Duration::parse(row[1])->value.count()) == row[2]);
    }
  }
}

TEST_CASE("times convert to the wall clock and order") {
  const Time late = *Time::parse("9999-12-31T23:59:59Z");
  CHECK(late.wall() == koord::WallTime::max());
  CHECK(Time::parse("0001-01-01T00:00:00Z")->wall() == koord::WallTime::min());
  const koord::WallTime wall{std::chrono::nanoseconds(-1)};
  CHECK(Time(wall).to_string() == "1969-12-31T23:59:59Z");
  CHECK(MicroTime(wall).to_string() == "1969-12-31T23:59:59.999999Z");
  CHECK(MicroTime(wall).wall() == koord::WallTime{std::chrono::nanoseconds(-1000)});
  CHECK(Time() < late);
  CHECK(Duration(std::chrono::hours(1)) > Duration());
}
