// Random claims on small pools beside a naive search: something is found where something is to be had, and it
// is what was asked for, no device twice.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "claim_world.hpp"
#include "support/sanitized.hpp"

namespace koord::scheduling::test {
namespace {

using namespace dynamic_resources;

struct Thing {  // a device
  int pool, driver, slot, amount;
  bool taken, sick, shared;
  int had, size;  // of its slots, if it is shared
};
struct Way {
  int driver = 0, count = 1;
  bool all = false, admin = false, tolerates = false;
  int slots = 1;  // of a shared device
};
struct Wish {
  std::string name;
  std::vector<Way> ways;  // several: the first that can be had
};
struct Rule {
  bool distinct = false;
  int request = -1;  // -1: of all
};
struct Want {
  std::vector<Wish> wishes;
  std::vector<Rule> rules;
};
struct Scene {
  int pools = 0;
  std::vector<Thing> things;
  std::vector<int> counters;  // by pool
  std::vector<Want> wants;
};
/// One device of one request, in the order in which they are chosen.
struct Slot {
  int want, wish, way, thing;
};

class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed) {}

  Scene make() {
    Scene scene;
    scene.pools = 1 + below(3);
    for (int pool = 0; pool < scene.pools; ++pool) scene.counters.push_back(2 + below(5));
    const int things = 3 + below(4);
    for (int i = 0; i < things; ++i) {
      const int pool = below(scene.pools);
      const bool shared = one_of(4);
      const int size = 1 + below(3);
      scene.things.push_back({.pool = pool,
                              .driver = pool % 2,
                              .slot = below(3),
                              .amount = one_of(3) ? 1 + below(3) : 0,
                              .taken = !shared && one_of(8),
                              .sick = one_of(10),
                              .shared = shared,
                              .had = shared && one_of(3) ? 1 : 0,
                              .size = size});
    }
    std::ranges::stable_sort(scene.things, {}, &Thing::pool);
    int left = 4;  // devices that are asked for
    const int wants = 1 + below(2);
    for (int i = 0; i < wants && left > 0; ++i) scene.wants.push_back(want(left));
    return scene;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool one_of(int n) { return below(n) == 0; }

  Want want(int& left) {
    Want made;
    const int wishes = 1 + below(2);
    bool all = false;
    for (int i = 0; i < wishes && left > 0; ++i) {
      Wish wish{.name = fmt::format("r{}", i), .ways = {}};
      const int ways = one_of(3) ? 2 : 1;
      int most = 0;
      for (int j = 0; j < ways; ++j) {
        Way way{.driver = one_of(4) ? 1 : 0,
                .count = 1 + below(std::min(left, 2)),
                .all = one_of(6),
                .admin = ways == 1 && one_of(5),
                .tolerates = one_of(3),
                .slots = one_of(4) ? 2 : 1};
        all = all || way.all;
        most = std::max(most, way.count);
        wish.ways.push_back(way);
      }
      left -= most;
      made.wishes.push_back(wish);
    }
    // All devices that a constraint forbids are an error, of which there are cases elsewhere.
    if (!all && one_of(2)) made.rules.push_back({one_of(2), one_of(2) ? 0 : -1});
    return made;
  }

  std::mt19937 random_;
};

/// The rules, asked of a whole choice. No part of the search is used.
class Naive {
 public:
  explicit Naive(const Scene& scene) : scene_(scene) {}

  bool possible() { return wish(0, 0); }
  /// Whether the choice is one, in this order.
  bool allowed(const std::vector<Slot>& slots) const {
    for (std::size_t i = 0; i < slots.size(); ++i)
      if (!device_allowed(slots, i)) return false;
    return sums_allowed(slots) && rules_allowed(slots);
  }
  /// What a way for all devices is for.
  std::vector<int> all_of(const Way& way) const {
    std::vector<int> all;
    for (int i = 0; i < static_cast<int>(scene_.things.size()); ++i)
      if (thing(i).driver == way.driver && fits(way, i, 0)) all.push_back(i);
    return all;
  }

 private:
  const Thing& thing(int i) const { return scene_.things[static_cast<std::size_t>(i)]; }
  const Way& way_of(const Slot& slot) const {
    return scene_.wants[static_cast<std::size_t>(slot.want)]
        .wishes[static_cast<std::size_t>(slot.wish)]
        .ways[static_cast<std::size_t>(slot.way)];
  }
  /// Of a device that is shared: its slots. Another has one, which all of it is.
  bool fits(const Way& way, int device, int chosen) const {
    const Thing& of = thing(device);
    return of.shared ? of.had + chosen + way.slots <= of.size : way.slots <= of.size;
  }

  bool device_allowed(const std::vector<Slot>& slots, std::size_t at) const {
    const Way& way = way_of(slots[at]);
    const Thing& of = thing(slots[at].thing);
    if (of.driver != way.driver || (of.sick && !way.tolerates)) return false;
    if (!way.admin && of.taken) return false;
    if (of.shared) return true;
    for (std::size_t i = 0; i < at; ++i)
      if (slots[i].thing == slots[at].thing && (!way.admin || slots[i].want == slots[at].want)) return false;
    return true;
  }

  bool sums_allowed(const std::vector<Slot>& slots) const {
    std::vector<int> left = scene_.counters;
    for (const Thing& of : scene_.things)
      if (of.taken || of.had > 0) left[static_cast<std::size_t>(of.pool)] -= of.amount;
    const std::vector<int> before = left;
    std::map<int, int> shares;
    for (const Slot& slot : slots) {
      const Thing& of = thing(slot.thing);
      const bool counted = of.shared && (of.had > 0 || shares.contains(slot.thing));
      if (!fits(way_of(slot), slot.thing, shares[slot.thing])) return false;
      if (of.shared)
        shares[slot.thing] += way_of(slot).slots;
      else
        shares.erase(slot.thing);
      if (of.amount == 0 || counted) continue;
      if (before[static_cast<std::size_t>(of.pool)] < 0) return false;
      left[static_cast<std::size_t>(of.pool)] -= of.amount;
      if (left[static_cast<std::size_t>(of.pool)] < 0) return false;
    }
    return true;
  }

  bool rules_allowed(const std::vector<Slot>& slots) const {
    for (int want = 0; want < static_cast<int>(scene_.wants.size()); ++want)
      for (const Rule& rule : scene_.wants[static_cast<std::size_t>(want)].rules) {
        std::vector<int> values;
        for (const Slot& slot : slots)
          if (slot.want == want && (rule.request < 0 || slot.wish == rule.request))
            values.push_back(thing(slot.thing).slot);
        for (std::size_t i = 1; i < values.size(); ++i)
          for (std::size_t j = 0; j < i; ++j)
            if ((values[i] == values[j]) == rule.distinct) return false;
      }
    return true;
  }

  bool wish(int want, int index) {
    if (want == static_cast<int>(scene_.wants.size())) return allowed(chosen_);
    const auto& wishes = scene_.wants[static_cast<std::size_t>(want)].wishes;
    if (index == static_cast<int>(wishes.size())) return wish(want + 1, 0);
    const auto& ways = wishes[static_cast<std::size_t>(index)].ways;
    for (int way = 0; way < static_cast<int>(ways.size()); ++way)
      if (fill(want, index, way)) return true;
    return false;
  }

  bool fill(int want, int index, int way) {
    const Way& of = scene_.wants[static_cast<std::size_t>(want)]
                        .wishes[static_cast<std::size_t>(index)]
                        .ways[static_cast<std::size_t>(way)];
    if (!of.all) return pick(want, index, way, of.count);
    const std::vector<int> all = all_of(of);
    if (all.empty()) return false;
    for (const int device : all) chosen_.push_back({want, index, way, device});
    const bool done = wish(want, index + 1);
    chosen_.resize(chosen_.size() - all.size());
    return done;
  }

  bool pick(int want, int index, int way, int missing) {
    if (missing == 0) return wish(want, index + 1);
    for (int device = 0; device < static_cast<int>(scene_.things.size()); ++device) {
      chosen_.push_back({want, index, way, device});
      const bool done = pick(want, index, way, missing - 1);
      chosen_.pop_back();
      if (done) return true;
    }
    return false;
  }

  const Scene& scene_;
  std::vector<Slot> chosen_;
};

std::string device_json(const Thing& of, int index) {
  std::string text = fmt::format(
      R"({{"name":"d{}","attributes":{{"test/slot":{{"int":{}}}}},"capacity":{{"slots":{{"value":"{}"}}}})",
      index, of.slot, of.size);
  if (of.amount > 0)
    text += fmt::format(R"(,"consumesCounters":[{{"counterSet":"set","counters":{{"n":{{"value":"{}"}}}}}}])",
                        of.amount);
  if (of.sick) text += R"(,"taints":[{"key":"sick","effect":"NoExecute"}])";
  if (of.shared) text += R"(,"allowMultipleAllocations":true)";
  return text + "}";
}

std::string way_json(const Way& way) {
  std::string text = fmt::format(R"("deviceClassName":"v{}","capacity":{{"requests":{{"slots":"{}"}}}})",
                                 way.driver, way.slots);
  text += way.all ? std::string(R"(,"allocationMode":"All")")
                  : fmt::format(R"(,"allocationMode":"ExactCount","count":{})", way.count);
  if (way.admin) text += R"(,"adminAccess":true)";
  if (way.tolerates) text += R"(,"tolerations":[{"operator":"Exists"}])";
  return text;
}

std::string claim_json(const Want& want) {
  std::string requests, rules;
  for (const Wish& wish : want.wishes) {
    requests += fmt::format(R"({}{{"name":"{}",)", requests.empty() ? "" : ",", wish.name);
    if (wish.ways.size() == 1) {
      requests += fmt::format(R"("exactly":{{{}}}}})", way_json(wish.ways[0]));
      continue;
    }
    requests += R"("firstAvailable":[)";
    for (std::size_t i = 0; i < wish.ways.size(); ++i)
      requests += fmt::format(R"({}{{"name":"s{}",{}}})", i == 0 ? "" : ",", i, way_json(wish.ways[i]));
    requests += "]}";
  }
  for (const Rule& rule : want.rules)
    rules += fmt::format(R"({}{{{}"{}Attribute":"test/slot"}})", rules.empty() ? "" : ",",
                         rule.request < 0 ? "" : fmt::format(R"("requests":["r{}"],)", rule.request),
                         rule.distinct ? "distinct" : "match");
  return fmt::format(
      R"({{"metadata":{{"name":"c"}},"spec":{{"devices":{{"requests":[{}],"constraints":[{}]}}}}}})",
      requests, rules);
}

void build(const Scene& scene, ClaimWorld& world) {
  world.features = {.partitionable_devices = true,
                    .consumable_capacity = true,
                    .device_taints = true,
                    .binding_conditions = true};
  for (int driver = 0; driver < 2; ++driver)
    world.add_class(fmt::format(
        R"({{"metadata":{{"name":"v{0}"}},"spec":{{"selectors":[{{"cel":{{"expression":"driver=v{0}"}}}}]}}}})",
        driver));
  for (int pool = 0; pool < scene.pools; ++pool) {
    const auto add = [&](const char* part, const std::string& members) {
      world.add_slice(fmt::format(
          R"({{"metadata":{{"name":"{1}{0}"}},"spec":{{"driver":"v{2}","pool":{{"name":"p{0}","generation":1,"resourceSliceCount":2}},"nodeName":"node-1",{3}}}}})",
          pool, part, pool % 2, members));
    };
    std::string all;
    for (std::size_t i = 0; i < scene.things.size(); ++i) {
      const Thing& of = scene.things[i];
      if (of.pool != pool) continue;
      all += (all.empty() ? "" : ",") + device_json(of, static_cast<int>(i));
      const std::string id = fmt::format("v{}/p{}/d{}", of.driver, pool, i);
      if (of.taken) world.take(id);
      if (of.had > 0) world.consume(id, {{"slots", api::Quantity::from_int(of.had)}});
    }
    add("c", fmt::format(R"("sharedCounters":[{{"name":"set","counters":{{"n":{{"value":"{}"}}}}}}])",
                         scene.counters[static_cast<std::size_t>(pool)]));
    add("d", R"("devices":[)" + all + "]");
  }
  for (const Want& want : scene.wants) world.add_claim(claim_json(want));
}

/// What an answer says, as the naive search has it; nothing if a request got too few or too many.
std::optional<std::vector<Slot>> slots_of(const Scene& scene, const Naive& naive, const Answer& answer) {
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < scene.wants.size(); ++i) {
    const Want& want = scene.wants[i];
    std::map<std::pair<int, int>, std::vector<int>> by_way;
    for (const auto& result : answer.results[i].devices.results) {
      const std::string_view request = result.request, device = result.device;
      const int wish = request[1] - '0', way = request.size() > 2 ? request[4] - '0' : 0,
                thing = device[1] - '0';
      by_way[{wish, way}].push_back(thing);
      slots.push_back({static_cast<int>(i), wish, way, thing});
    }
    if (by_way.size() != want.wishes.size()) return {};
    for (const auto& [at, things] : by_way) {
      const Way& way =
          want.wishes[static_cast<std::size_t>(at.first)].ways[static_cast<std::size_t>(at.second)];
      if (way.all ? things != naive.all_of(way) : static_cast<int>(things.size()) != way.count) return {};
    }
  }
  return slots;
}

TEST_CASE("Random claims get devices where there are some, and what they asked for") {
  const int worlds = koord::test::is_short() ? 2000 : 30000;
  int found = 0, none = 0;
  for (int seed = 0; seed < worlds; ++seed) {
    const Scene scene = Maker(static_cast<unsigned>(seed)).make();
    ClaimWorld world;
    build(scene, world);
    Naive naive(scene);
    const Answer answer = world.ask();
    INFO("seed " << seed << ": " << world.said());
    REQUIRE(answer.message.empty());
    const bool possible = naive.possible();
    REQUIRE((answer.kind == Answer::Kind::found) == possible);
    ++(possible ? found : none);
    if (!possible) continue;
    const auto slots = slots_of(scene, naive, answer);
    REQUIRE(slots.has_value());
    REQUIRE(naive.allowed(*slots));
  }
  // Neither is rare.
  CHECK(found > worlds / 5);
  CHECK(none > worlds / 5);
}

}  // namespace
}  // namespace koord::scheduling::test
