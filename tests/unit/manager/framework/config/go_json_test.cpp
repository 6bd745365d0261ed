// JSON as Go reads it, and one struct read over another.
#include "framework/config/go_json.hpp"

#include <catch2/catch.hpp>

#include "framework/config/strategies.hpp"
#include "koord/json/writer.hpp"

namespace koord::manager {
namespace {

template <class T>
std::string read(std::string_view text) {
  json::Document out;
  const auto in = json::parse(text);
  REQUIRE(in.has_value());
  auto value = read_like_go(*in, api::schema<T>(), out.arena());
  return value ? json::to_text(*value) : value.error().message();
}

template <class T>
std::string merge(std::string_view onto, std::string_view update) {
  auto target = json::parse(onto);
  const auto said = json::parse(update);
  REQUIRE((target.has_value() && said.has_value()));
  merge_like_go(*target, *said, api::schema<T>(), target->arena());
  return json::to_text(*target);
}

TEST_CASE("Keys match without regard to their case, unknown ones are left out") {
  struct Row {
    std::string_view in, out;
  };
  for (const Row& row : {
           Row{R"({"enable":true,"what":1})", R"({"enable":true})"},
           Row{R"({"ENABLE":true,"CpuReclaimThresholdPercent":70})",
               R"({"enable":true,"cpuReclaimThresholdPercent":70})"},
           // The later one counts, whatever its case.
           Row{R"({"Enable":true,"enable":false})", R"({"enable":false})"},
           Row{R"({"enable":null})", R"({"enable":null})"},
           Row{R"({"metricAggregatePolicy":{"Durations":["5m"],"x":{}}})",
               R"({"metricAggregatePolicy":{"durations":["5m"]}})"},
           Row{R"({"metricAggregatePolicy":{"durations":["5m"]},"MetricAggregatePolicy":{}})",
               R"({"metricAggregatePolicy":{"durations":["5m"]}})"},
           Row{R"({"extensions":{"Any":{"Case":[1,"x",null]}}})",
               R"({"extensions":{"Any":{"Case":[1,"x",null]}}})"},
           Row{R"({"resourceDiffThreshold":1})", R"({"resourceDiffThreshold":1})"},
       }) {
    CAPTURE(row.in);
    CHECK(read<ColocationStrategy>(row.in) == row.out);
  }
}

TEST_CASE("A value of a wrong type is an error that says where") {
  struct Row {
    std::string_view in, message;
  };
  for (const Row& row : {
           Row{"[]", ".: an array where an object is expected"},
           Row{R"({"enable":"true"})", ".enable: a string where a boolean is expected"},
           Row{R"({"cpuReclaimThresholdPercent":60.0})",
               ".cpuReclaimThresholdPercent: a number where an integer of 64 bits is expected"},
           Row{R"({"CPUReclaimThresholdPercent":"60"})",
               ".cpuReclaimThresholdPercent: a string where an integer is expected"},
           Row{R"({"cpuReclaimThresholdPercent":9223372036854775808})",
               ".cpuReclaimThresholdPercent: a number where an integer of 64 bits is expected"},
           Row{R"({"cpuCalculatePolicy":1})", ".cpuCalculatePolicy: a number where a string is expected"},
           Row{R"({"metricAggregatePolicy":{"durations":["5m","x"]}})",
               ".metricAggregatePolicy.durations[1]: a string where a duration such as 5m is expected"},
           Row{R"({"metricAggregatePolicy":{"durations":{}}})",
               ".metricAggregatePolicy.durations: an object where an array is expected"},
       }) {
    CAPTURE(row.in);
    CHECK(read<ColocationStrategy>(row.in) == row.message);
  }
  CHECK(read<api::SystemStrategy>(R"({"totalNetworkBandwidth":"lots"})") ==
        ".totalNetworkBandwidth: a string where a quantity is expected");
  CHECK(read<api::ResourceThresholdStrategy>(R"({"evictEnabledPriorityThreshold":2147483648})") ==
        ".evictEnabledPriorityThreshold: a number where an integer of 32 bits is expected");
  CHECK(read<CpuNormalizationStrategy>(R"({"ratioModel":{"A":{"baseRatio":"1"}}})") ==
        ".ratioModel.A.baseRatio: a string where a number is expected");
}

TEST_CASE("Structures merge by field, maps by key, lists by index") {
  // What an element does not say stays as that index had it: the blocks of upstream's blkio strategy leak so.
  CHECK(merge<api::BlkioQosConfig>(
            R"({"enable":true,"blocks":[{"name":"a","type":"device","ioCfg":{"readIOPS":1}},{"name":"b"}]})",
            R"({"blocks":[{"name":"c","ioCfg":{"writeIOPS":2}}]})") ==
        R"({"enable":true,"blocks":[{"name":"c","type":"device","ioCfg":{"readIOPS":1,"writeIOPS":2}}]})");
  CHECK(merge<ColocationStrategy>(R"({"metricAggregatePolicy":{"durations":["5m0s","10m0s","30m0s"]}})",
                                  R"({"metricAggregatePolicy":{"durations":["1m0s"]}})") ==
        R"({"metricAggregatePolicy":{"durations":["1m0s"]}})");
  CHECK(merge<api::SystemStrategy>(R"({"schedFeatures":{"A":true,"B":true}})",
                                   R"({"schedFeatures":{"B":false}})") ==
        R"({"schedFeatures":{"A":true,"B":false}})");
  // The value of a key is replaced, a structure too.
  CHECK(merge<CpuNormalizationStrategy>(
            R"({"ratioModel":{"A":{"baseRatio":1,"turboEnabledRatio":2},"B":{}}})",
            R"({"ratioModel":{"A":{"baseRatio":3}}})") == R"({"ratioModel":{"A":{"baseRatio":3},"B":{}}})");
  CHECK(
      merge<ColocationStrategy>(R"({"extensions":{"a":{"x":1},"b":2}})", R"({"extensions":{"a":{"y":1}}})") ==
      R"({"extensions":{"a":{"y":1},"b":2}})");
  CHECK(merge<api::ResourceQosStrategy>(R"({"beClass":{"cpuQOS":{"enable":true,"groupIdentity":-1}}})",
                                        R"({"beClass":{"cpuQOS":{"groupIdentity":2}},"lsClass":{}})") ==
        R"({"beClass":{"cpuQOS":{"enable":true,"groupIdentity":2}},"lsClass":{}})");
}

}  // namespace
}  // namespace koord::manager
