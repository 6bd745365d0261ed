// What upstream's cases of allocations do not ask, and where an allocation differs from kube-scheduler's.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <string>
#include <vector>

#include "claim_world.hpp"

namespace koord::scheduling::test {
namespace {

using namespace dynamic_resources;

/// A slice that is its pool, for node-1. `more` are further members of its spec.
std::string slice(const std::string& driver, const std::string& pool, const std::string& more,
                  const std::string& name = "slice", int of = 1) {
  return fmt::format(
      R"({{"metadata":{{"name":"{}"}},"spec":{{"driver":"{}","pool":{{"name":"{}","generation":1,"resourceSliceCount":{}}},"nodeName":"node-1",{}}}}})",
      name, driver, pool, of, more);
}

/// `members` of each device, beside its name: device-0, device-1, ...
std::string devices(const std::vector<std::string>& members) {
  std::string all;
  for (std::size_t i = 0; i < members.size(); ++i)
    all += fmt::format(R"({}{{"name":"device-{}"{}{}}})", i == 0 ? "" : ",", i, members[i].empty() ? "" : ",",
                       members[i]);
  return R"("devices":[)" + all + "]";
}

std::string uses(const std::string& amount) {
  return R"("consumesCounters":[{"counterSet":"set","counters":{"memory":{"value":")" + amount + R"("}}}])";
}

std::string counters(const std::string& amount) {
  return R"("sharedCounters":[{"name":"set","counters":{"memory":{"value":")" + amount + R"("}}}])";
}

std::string claim(const std::string& requests, const std::string& more = "") {
  return R"({"metadata":{"name":"c","namespace":"shop"},"spec":{"devices":{"requests":[)" + requests + "]" +
         more + "}}}";
}

/// So many of class "KIND", which is that driver's.
std::string ask(const std::string& name, const std::string& of, int count, const std::string& more = "") {
  return fmt::format(
      R"({{"name":"{}","exactly":{{"deviceClassName":"{}","allocationMode":"ExactCount","count":{}{}}}}})",
      name, of, count, more);
}

void add_classes(ClaimWorld& world) {
  for (const char* name : {"a", "b"})
    world.add_class(fmt::format(
        R"({{"metadata":{{"name":"{0}"}},"spec":{{"selectors":[{{"cel":{{"expression":"driver={0}"}}}}]}}}})",
        name));
}

const std::string kSlot0 = R"("attributes":{"slot":{"int":0}})",
                  kSlot1 = R"("attributes":{"slot":{"int":1}})";
const std::string kSick = R"("taints":[{"key":"sick","effect":"NoSchedule"}])";

TEST_CASE("Devices of claims are found") {
  struct Row {
    const char* name;
    std::vector<std::string> slices;
    std::vector<std::string> claims;
    std::vector<std::string> taken;
    std::vector<std::string> consumed;  // 1 of "slots" each
    Features features;
    const char* expected;
  };
  const Features kAll{.partitionable_devices = true,
                      .consumable_capacity = true,
                      .device_taints = true,
                      .binding_conditions = true};
  const std::string shared =
      R"("allowMultipleAllocations":true,"capacity":{"slots":{"value":"2","requestPolicy":{"default":"1"}}})";
  const std::vector<Row> rows = {
      {"a subrequest for all devices of a class gets that class', whichever was looked at before",
       {slice("a", "p", devices({""})), slice("b", "q", devices({""}))},
       {claim(
           R"({"name":"r","firstAvailable":[{"name":"one","deviceClassName":"a","allocationMode":"All"},{"name":"two","deviceClassName":"b","allocationMode":"All"}]})")},
       {"a/p/device-0"},
       {},
       {},
       "claim 0: r/two=q/device-0"},
      {"a device that is not had for its taint takes no counters",
       {slice("a", "p", counters("8Gi"), "s0", 2),
        slice("a", "p", devices({uses("8Gi") + "," + kSick, uses("8Gi")}), "s1", 2)},
       {claim(ask("r", "a", 1))},
       {},
       {},
       kAll,
       "claim 0: r=p/device-1"},
      {"a device that several have a part of has its counters, for those that come later, too",
       {slice("a", "p", counters("8Gi"), "s0", 2),
        slice("a", "p", devices({uses("6Gi") + "," + shared, uses("6Gi"), uses("2Gi")}), "s1", 2)},
       {claim(ask("r", "a", 1, R"(,"selectors":[{"cel":{"expression":"name=device-1"}}])"))},
       {},
       {"a/p/device-0"},
       kAll,
       "none"},
      {"and whoever gets another part of it takes none again",
       {slice("a", "p", counters("8Gi"), "s0", 2),
        slice("a", "p", devices({uses("6Gi") + "," + shared}), "s1", 2)},
       {claim(ask("r", "a", 1))},
       {},
       {"a/p/device-0"},
       kAll,
       "claim 0: r=p/device-0"},
      {"a device that is shared no more is nobody's while somebody has a part of it",
       {slice("a", "p",
              devices({R"("capacity":{"slots":{"value":"2","requestPolicy":{"default":"1"}}})", ""}))},
       {claim(ask("r", "a", 1))},
       {},
       {"a/p/device-0"},
       kAll,
       "claim 0: r=p/device-1"},
      {"but for who only looks",
       {slice("a", "p", devices({""}))},
       {claim(ask("r", "a", 1, R"(,"adminAccess":true)"))},
       {},
       {"a/p/device-0"},
       kAll,
       "claim 0: r=p/device-0"},
      {"parts of one device serve one request until it is full",
       {slice("a", "p", devices({shared, shared}))},
       {claim(ask("r", "a", 3))},
       {},
       {},
       kAll,
       "claim 0: r=p/device-0 r=p/device-0 r=p/device-1"},
      {"pools of one name are each driver's own",
       {slice("a", "p", counters("6Gi"), "s0", 2), slice("a", "p", devices({uses("6Gi")}), "s1", 2),
        slice("b", "p", counters("6Gi"), "s2", 2), slice("b", "p", devices({uses("6Gi")}), "s3", 2)},
       {claim(ask("r", "a", 1) + "," + ask("s", "b", 1))},
       {},
       {},
       kAll,
       "claim 0: r=p/device-0 s=p/device-0"},
      {"all devices of a request differ in a distinct attribute, not only from the last one",
       {slice("a", "p", devices({kSlot0, kSlot1, kSlot0}))},
       {claim(ask("r", "a", 3), R"(,"constraints":[{"distinctAttribute":"a/slot"}])")},
       {},
       {},
       kAll,
       "none"},
      {"without the gate there is no distinct attribute",
       {slice("a", "p", devices({kSlot0, kSlot1}))},
       {claim(ask("r", "a", 2), R"(,"constraints":[{"distinctAttribute":"a/slot"}])")},
       {},
       {},
       {},
       "failed: claim shop/c, constraint #0: empty constraint (unsupported constraint type?)"},
      {"an earlier choice is taken back where what follows could not be had",
       {slice("a", "p", devices({kSlot0, kSlot1, kSlot1}))},
       {claim(ask("r", "a", 1) + "," + ask("s", "a", 1), R"(,"constraints":[{"matchAttribute":"a/slot"}])")},
       {},
       {},
       {},
       "claim 0: r=p/device-1 s=p/device-2"},
      {"a claim's attribute is the driver's where it says so, and no other's",
       {slice("b", "p", devices({kSlot0}))},
       {claim(ask("r", "b", 1), R"(,"constraints":[{"matchAttribute":"a/slot"}])")},
       {},
       {},
       {},
       "none"},
      {"who only looks gets what others have, and each claim once",
       {slice("a", "p", devices({"", ""}))},
       {claim(ask("r", "a", 2, R"(,"adminAccess":true)")), claim(ask("r", "a", 1, R"(,"adminAccess":true)"))},
       {"a/p/device-0"},
       {},
       {},
       "claim 0: r=p/device-0 r=p/device-1, claim 1: r=p/device-0"},
      {"what a claim looks at nobody beside it takes",
       {slice("a", "p", devices({""}))},
       {claim(ask("r", "a", 1, R"(,"adminAccess":true)")), claim(ask("r", "a", 1))},
       {},
       {},
       {},
       "none"},
      {"a selector without a value is the end of all attempts",
       {slice("a", "p", devices({""}))},
       {claim(ask("r", "a", 1, R"(,"selectors":[{"cel":{"expression":"fails"}}])"))},
       {},
       {},
       {},
       "failed: claim shop/c: selector #0: CEL runtime error: no such key"},
      {"but not of a device that its class does not have",
       {slice("b", "p", devices({""}))},
       {claim(ask("r", "a", 1, R"(,"selectors":[{"cel":{"expression":"fails"}}])"))},
       {},
       {},
       {},
       "none"},
      {"a slice whose nodes cannot be read ends the attempt by name",
       {R"({"metadata":{"name":"s"},"spec":{"driver":"a","pool":{"name":"p","generation":1,"resourceSliceCount":1},"nodeSelector":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"k","operator":"Near"}]}]}}})"},
       {claim(ask("r", "a", 1))},
       {},
       {},
       {},
       R"(failed: failed to perform node selection for slice s: failed to parse node selector: nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Near": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")"},
      {"a request that says neither how nor of what asks for nothing that there is",
       {slice("a", "p", devices({""}))},
       {claim(R"({"name":"r"})")},
       {},
       {},
       {},
       "failed: claim shop/c, request r: missing device class name (unsupported request type?)"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    ClaimWorld world;
    world.features = row.features;
    add_classes(world);
    for (const std::string& each : row.slices) world.add_slice(each);
    for (const std::string& each : row.claims) world.add_claim(each);
    for (const std::string& id : row.taken) world.take(id);
    for (const std::string& id : row.consumed) world.consume(id, {{"slots", api::Quantity::must("1")}});
    CHECK(world.said() == row.expected);
  }
}

TEST_CASE("A claim has as many constraints as the API server lets pass") {
  for (const auto& [count, expected] :
       {std::pair(32, "claim 0: r=p/device-0"),
        std::pair(33, "failed: claim shop/c: number of constraints 33 exceeds the claim limit of 32")}) {
    ClaimWorld world;
    add_classes(world);
    world.add_slice(slice("a", "p", devices({kSlot0})));
    std::string constraints;
    for (int i = 0; i < count; ++i)
      constraints += std::string(i == 0 ? "" : ",") + R"({"matchAttribute":"a/slot"})";
    world.add_claim(claim(ask("r", "a", 1), R"(,"constraints":[)" + constraints + "]"));
    CHECK(world.said() == expected);
  }
}

TEST_CASE("A search in vain tries no order of the same devices twice") {
  ClaimWorld world;
  add_classes(world);
  world.add_slice(slice("a", "p", devices(std::vector<std::string>(20, ""))));
  world.add_claim(claim(ask("r", "a", 21)));
  CHECK(world.ask().kind == Answer::Kind::none);
  CHECK(world.ask().steps == 1);

  // Of one slot there are ten, and eleven are wanted.
  ClaimWorld split;
  add_classes(split);
  std::vector<std::string> halves(20, kSlot0);
  for (std::size_t i = 0; i < halves.size(); i += 2) halves[i] = kSlot1;
  split.add_slice(slice("a", "p", devices(halves)));
  split.add_claim(claim(ask("r", "a", 11), R"(,"constraints":[{"matchAttribute":"a/slot"}])"));
  const Answer answer = split.ask();
  CHECK(answer.kind == Answer::Kind::none);
  CHECK(answer.steps < 3000);
}

class CountedBudget final : public Budget {
 public:
  explicit CountedBudget(int asks) : left_(asks) {}
  bool spent() override { return left_-- <= 0; }
  int left() const { return left_; }

 private:
  int left_;
};

TEST_CASE("A search ends with its budget") {
  ClaimWorld world;
  add_classes(world);
  std::vector<std::string> each;
  for (int i = 0; i < 24; ++i) each.push_back(fmt::format(R"("attributes":{{"slot":{{"int":{}}}}})", i / 2));
  world.add_slice(slice("a", "p", devices(each)));
  std::string requests;
  for (int i = 0; i < 8; ++i) requests += (i == 0 ? "" : ",") + ask(fmt::format("r{}", i), "a", 1);
  // No three devices have a slot in common, whichever five others are chosen before.
  world.add_claim(
      claim(requests, R"(,"constraints":[{"matchAttribute":"a/slot","requests":["r5","r6","r7"]}])"));
  const std::string spent = "spent: filter operation aborted: context deadline exceeded";
  CountedBudget none(0);
  CHECK(world.said(&none) == spent);
  CountedBudget few(3);
  CHECK(world.said(&few) == spent);
  CHECK(few.left() == -1);
  CHECK(world.ask(&few).steps == 1);

  ClaimWorld easy;
  add_classes(easy);
  easy.add_slice(slice("a", "p", devices({""})));
  easy.add_claim(claim(ask("r", "a", 1)));
  CountedBudget one(1);
  CHECK(easy.said(&one) == "claim 0: r=p/device-0");
}

TEST_CASE("A selector's error counts only where the search comes to that device") {
  const auto row = json::parse(
      R"({"features":[],"node":{"name":"node-1"},"slices":[{"metadata":{"name":"s"},"spec":{"driver":"a","pool":{"name":"p","generation":1,"resourceSliceCount":1},"nodeName":"node-1","devices":[{"name":"d0"},{"name":"d1"},{"name":"d2"}]}}],"classes":[{"metadata":{"name":"c"},"spec":{"selectors":[{"cel":{"expression":"x"}}]}}],"verdicts":{"x":"yey"},"faults":{"x":"no such key: y"}})");
  REQUIRE(row.has_value());
  for (const auto& [count, expected] :
       {std::pair(1, "claim 0: r=p/d0"),
        std::pair(2, "failed: class c: selector #0: CEL runtime error: no such key: y"),
        std::pair(3, "failed: class c: selector #0: CEL runtime error: no such key: y")}) {
    ClaimWorld world;
    world.read(*row);
    world.add_claim(claim(ask("r", "c", count)));
    CHECK(world.said() == expected);
  }
}

TEST_CASE("An expression is evaluated once for each device and version of its slice") {
  DeviceNumbers numbers;
  const auto object = [] {
    auto made = std::make_shared<api::ResourceSlice>();
    made->spec.devices.resize(2);
    made->spec.devices[0].name = "d0";
    made->spec.devices[1].name = "d1";
    return made;
  };
  const Slice before(object(), numbers), after(object(), numbers);
  int evaluated = 0;
  KeptVerdicts verdicts([&](const Symbol& expression, const Slice&, std::uint32_t device) {
    ++evaluated;
    if (expression == "bad") return std::pair(Verdict::failed, fmt::format("of {}", device));
    return std::pair(device == 0 ? Verdict::yes : Verdict::no, std::string());
  });
  for (int i = 0; i < 3; ++i) {
    CHECK(verdicts.ask("x", before, 0) == Verdict::yes);
    CHECK(verdicts.ask("x", before, 1) == Verdict::no);
    CHECK(verdicts.ask("bad", before, 1) == Verdict::failed);
    CHECK(verdicts.why("bad", before, 1) == "of 1");
  }
  CHECK(evaluated == 3);
  CHECK(verdicts.ask("x", after, 0) == Verdict::yes);
  CHECK(evaluated == 4);
  verdicts.forget(before);
  CHECK(verdicts.ask("x", after, 0) == Verdict::yes);
  CHECK(evaluated == 4);
  CHECK(verdicts.ask("x", before, 0) == Verdict::yes);
  CHECK(evaluated == 5);
  for (std::size_t i = 0; i < KeptVerdicts::kMostExpressions; ++i)
    verdicts.ask(fmt::format("x{}", i), before, 0);
  evaluated = 0;
  verdicts.ask("x", before, 0);
  CHECK(evaluated == 1);  // forgotten with the others
}

TEST_CASE("A device keeps its number while somebody holds it") {
  DeviceNumbers numbers;
  const DeviceId one{"a", "p", "one"}, two{"a", "p", "two"};
  const DeviceNumber first = numbers.hold(one);
  CHECK(numbers.hold(one) == first);
  CHECK(numbers.id(first).text() == "a/p/one");
  CHECK(numbers.hold(two) != first);
  numbers.release(first);
  CHECK(numbers.hold(one) == first);
  numbers.release(first);
  numbers.release(first);
  CHECK(numbers.hold({"a", "p", "three"}) == first);
  CHECK(numbers.size() == 2);
}

TEST_CASE("What two claims have is free when both are gone") {
  Taken taken;
  taken.take(3);
  taken.take(3);
  taken.give_back(3);
  CHECK(taken.has(3));
  taken.give_back(3);
  taken.give_back(3);
  CHECK_FALSE(taken.has(3));
  CHECK_FALSE(taken.has(99));

  const api::ResourceList part{{"memory", api::Quantity::must("2Gi")}};
  taken.consume(5, part);
  taken.consume(5, part);
  CHECK(taken.consumed(5)->find("memory")->to_string() == "4Gi");
  taken.give_back(5, part);
  CHECK(taken.consumed(5)->find("memory")->to_string() == "2Gi");
  taken.give_back(5, part);
  CHECK(taken.consumed(5) == nullptr);
}

}  // namespace
}  // namespace koord::scheduling::test
