// Jobs that say what cannot be meant: they end with object and field, nobody is evicted for them, and others
// go on.
#include <catch2/catch.hpp>

#include "migration/controller_rig.hpp"
#include "migration/jobs/check.hpp"

namespace koord::descheduler::migration::test {
namespace {

struct Row {
  const char* name;
  std::string spec;
  std::string why;
};

std::vector<Row> rows() {
  const auto templated = [](const char* text) {
    return fmt::format(R"(,"reservationOptions":{{"template":{}}})", text);
  };
  const std::string huge(300'000, 'x');
  return {
      {"negative-ttl", R"(,"ttl":"-5m0s")", R"(spec.ttl: Invalid value: "-5m0s": must not be negative)"},
      {"mode", R"(,"mode":"Fly")",
       R"(spec.mode: Invalid value: "Fly": must be ReservationFirst or EvictDirectly)"},
      {"huge-mode", fmt::format(R"(,"mode":"{}")", huge),
       fmt::format(R"(spec.mode: Invalid value: "{}"...: must be ReservationFirst or EvictDirectly)",
                   std::string(64, 'x'))},
      {"huge-name", fmt::format(R"(,"podRef":{{"namespace":"default","name":"{}"}})", huge),
       fmt::format(R"(spec.podRef.name: Invalid value: "{}"...: must be no more than 253 characters)",
                   std::string(64, 'x'))},
      {"huge-namespace", fmt::format(R"(,"podRef":{{"namespace":"{}","name":"a"}})", huge),
       fmt::format(R"(spec.podRef.namespace: Invalid value: "{}"...: must be no more than 63 characters)",
                   std::string(64, 'x'))},
      {"text", templated("\"text\""),
       R"(spec.reservationOptions.template: Invalid value: "\"text\"": must be an object)"},
      {"list", templated("[1]"),
       R"(spec.reservationOptions.template: Invalid value: "[1]": must be an object)"},
      {"metadata", templated(R"({"metadata":7})"),
       "spec.reservationOptions.template.metadata: Invalid value: must be an object"},
      {"spec", templated(R"({"spec":"all"})"),
       "spec.reservationOptions.template.spec: Invalid value: must be an object"},
      {"owners", templated(R"({"spec":{"owners":{}}})"),
       "spec.reservationOptions.template.spec.owners: Invalid value: must be a list"},
      {"pod", templated(R"({"spec":{"template":{"spec":[]}}})"),
       "spec.reservationOptions.template.spec.template.spec: Invalid value: must be an object"},
  };
}

TEST_CASE("a job that says what cannot be meant ends with the field, and the others go on") {
  World world;
  world.args->object_limiters = {{"workload", ObjectLimiter()}};
  world.pod("a");
  for (const Row& row : rows()) world.pod(row.name);
  world.begin();
  for (const Row& row : rows()) world.job(row.name, row.name, row.spec);
  // What cannot be read at all is no job; who watches lists anew for it, after a while.
  world.pod("unreadable");
  world.job("unreadable", "unreadable", R"(,"ttl":"tomorrow")");
  world.job("move", "a");
  for (int i = 0; i < 20 && world.phase("move") != "Succeeded"; ++i) world.cluster.run();
  for (const Row& row : rows()) {
    CAPTURE(row.name);
    CHECK(world.says("podmigrationjobs//" + std::string(row.name)) ==
          fmt::format("Failed||InvalidSpec|PodMigrationJob \"{}\" is invalid: {}", row.name, row.why));
  }
  CHECK(world.says("podmigrationjobs//unreadable") == "|||");
  CHECK(world.phase("move") == "Succeeded");
  CHECK(world.cluster.evictions == 1);
  CHECK(world.cluster.reservations_made == 1);
  CHECK_FALSE(world.process->failure);
}

TEST_CASE("a job that is edited until it cannot be meant gives its room back") {
  World world;
  world.pod("a");
  world.cluster.schedules = false;
  world.begin();
  world.job("move", "a");
  world.cluster.run(5);
  const std::string room = "reservations//" + world.reservation_of();
  REQUIRE(world.cluster.has(room));
  world.cluster.change(std::string(kMove), R"({"spec":{"ttl":"-1s"}})");
  world.cluster.run(5);
  CHECK(world.phase("move") == "Failed");
  CHECK_FALSE(world.cluster.has(room));
  CHECK(world.cluster.evictions == 0);
}

TEST_CASE("what is said at length is repeated shortly, and what is usual is nothing to say of") {
  api::PodMigrationJob job;
  CHECK(what_is_wrong(job).empty());
  job.metadata.annotations[api::kEvictReasonAnnotation] = Symbol(std::string(200'000, 'x'));
  CHECK(reason_of(job).size() == 1024);
  for (const std::string_view text :
       {"{}", "null", R"({"metadata":{"labels":null},"spec":{"owners":[],"template":{"spec":{}}}})"}) {
    job.spec.reservation_options.ensure().template_.text = text;
    CHECK(what_is_wrong(job).empty());
  }
  job.spec.reservation_options->template_.text = "{";
  CHECK_THAT(what_is_wrong(job),
             Catch::StartsWith("spec.reservationOptions.template: Invalid value: \"{\": "));
  for (const std::string_view ttl : {"0s", "5m0s", "8760h0m0s"}) {
    api::PodMigrationJob usual;
    usual.spec.ttl = api::Duration::parse(ttl).value();
    usual.spec.mode = "EvictDirectly";
    CHECK(what_is_wrong(usual).empty());
  }
}

}  // namespace
}  // namespace koord::descheduler::migration::test
