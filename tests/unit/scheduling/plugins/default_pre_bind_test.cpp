// DefaultPreBind: where it is added, and that what plugins change of a pod goes to the writer where it is.
#include <algorithm>
#include <catch2/catch.hpp>

#include "scripted_plugin.hpp"
#include "world.hpp"

namespace koord::scheduling::test {
namespace {

bool prepares(const Decision& d) {
  const auto* bind = d.as<Decision::Bind>();
  return bind != nullptr && bind->prepares();
}

TEST_CASE("DefaultPreBind is added as koord-scheduler adds it") {
  struct Case {
    const char* name;
    PluginSet pre_bind;
    int at_the_end;
  };
  const Case cases[] = {
      {"nothing is said", {}, 1},
      {"it is off", {{}, {{"DefaultPreBind", {}}}}, 0},
      {"all are off", {{}, {{"*", {}}}}, 0},
      {"it is there", {{{"DefaultPreBind", {}}}, {}}, 1},
      {"another is off", {{}, {{"VolumeBinding", {}}}}, 1},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    KubeSchedulerConfiguration config;
    config.profiles.emplace_back();
    config.profiles[0].plugins.ensure().pre_bind = c.pre_bind;
    append_koordinators_defaults(config);
    append_koordinators_defaults(config);
    const auto& enabled = config.profiles[0].plugins->pre_bind.enabled;
    CHECK(std::count(enabled.begin(), enabled.end(), PluginRef{"DefaultPreBind", {}}) == c.at_the_end);
  }
  KubeSchedulerConfiguration empty;
  empty.profiles.emplace_back();
  append_koordinators_defaults(empty);
  CHECK_FALSE(empty.profiles[0].plugins);
}

TEST_CASE("what plugins change of a pod goes with its decision where DefaultPreBind is") {
  std::vector<const PluginEntry*> all(plugin_table().begin(), plugin_table().end());
  all.push_back(&kScriptedA);
  all.push_back(&kScriptedB);
  for (const bool writes : {false, true}) {
    INFO(writes);
    Script script;
    KubeSchedulerConfiguration config;
    config.profiles.emplace_back().plugins.ensure().multi_point.enabled = {{"A", {}}, {"B", {}}};
    if (writes) append_koordinators_defaults(config);
    World world(config, {}, all);
    world.engine.put_node(make_node("n"));
    world.engine.put_pod(make_pod("plain"));
    const Decision plain = world.one();
    CHECK_FALSE(prepares(plain));
    CHECK_FALSE(plain.nominate());

    script.changes = {{'A', "1"}, {'B', "2"}};
    world.engine.put_pod(make_pod("changed"));
    const Decision changed = world.one();
    CHECK(prepares(changed) == writes);
    // Its binding takes a while: others are told where it will be.
    CHECK(changed.nominate().has_value() == writes);
    const auto* bind = changed.as<Decision::Bind>();
    REQUIRE((bind->changes != nullptr) == writes);
    if (writes) CHECK(bind->changes->annotations == api::StringMap{{"A", "1"}, {"B", "2"}, {"last", "2"}});
    if (writes) CHECK(bind->patches == "DefaultPreBind");

    // Where nothing comes of it nothing is written.
    script.says["B.permit"] = {StatusCode::unschedulable, "no"};
    world.engine.put_pod(make_pod("refused"));
    CHECK_FALSE(prepares(world.one()));
    script.says.clear();
    script.says["A.permit"] = {StatusCode::wait, {}};
    script.timeouts["A"] = std::chrono::minutes(1);
    world.engine.put_pod(make_pod("waits"));
    CHECK_FALSE(prepares(world.one()));
    world.engine.allow("uid-waits", script.index['A']);
    CHECK(prepares(world.one()) == writes);
  }
}

}  // namespace
}  // namespace koord::scheduling::test
