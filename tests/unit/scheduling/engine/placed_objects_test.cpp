// Objects that are queued, placed and counted as pods are, without being pods: a throw-away kind, through the
// whole engine.
#include <algorithm>
#include <catch2/catch.hpp>
#include <stdexcept>

#include "bookings.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/engine/attempt_log.hpp"
#include "scripted_plugin.hpp"
#include "world.hpp"

namespace koord::scheduling::test {
namespace {

using Kind = Decision::Kind;
using namespace std::chrono_literals;

KubeSchedulerConfiguration with_booker(const std::function<void(Plugins&)>& edit = {}) {
  KubeSchedulerConfiguration c;
  Plugins& plugins = c.profiles.emplace_back().plugins.emplace();
  plugins.multi_point.enabled = {{"Booker", {}}};
  plugins.post_filter.disabled = {{"DefaultPreemption", {}}, {"DynamicResources", {}}};
  if (edit) edit(plugins);
  return c;
}

PluginTable table() {
  static const std::vector<const PluginEntry*> kTable = [] {
    std::vector<const PluginEntry*> all(plugin_table().begin(), plugin_table().end());
    all.insert(all.end(), {&kBooker, &kScriptedA, &kScriptedB});
    return all;
  }();
  return kTable;
}

/// One node with room for four CPUs.
struct Hotel : World {
  explicit Hotel(const std::function<void(Plugins&)>& edit = {}) : World(with_booker(edit), {}, table()) {
    engine.put_node(make_node("n"));
  }
  /// What the decision's binding makes of the booking.
  static std::shared_ptr<const Booking> bound(const std::shared_ptr<const Booking>& booking,
                                              const Decision& d) {
    return changed(booking, [&](Booking& b) { b.status.node = d.node(); });
  }
  std::shared_ptr<const Booking> put_bound(std::string name, std::string cpu = "1") {
    auto booking = make_booking(std::move(name), std::move(cpu), [](Booking& b) { b.status.node = "n"; });
    engine.put_object(booking);
    return booking;
  }
  /// Milli-CPUs that are taken on a node.
  std::int64_t cpu(std::string_view node = "n") const {
    return engine.nodes().used(kCpu, engine.nodes().find(node));
  }
};

TEST_CASE(
    "an object is queued, chosen a node for, assumed there, bound by its plugin, and counts until it goes") {
  Hotel h;
  const auto booking = make_booking("b", "3");
  h.engine.put_object(booking);
  CHECK(h.engine.queue_sizes().active == 1);
  const Decision d = h.one();
  REQUIRE(d.kind() == Kind::bind);
  CHECK(described(*d.pod) == "booking default/b");
  CHECK(d.pod->metadata.uid == "uid-of-b");
  CHECK(d.node() == Symbol("n"));
  CHECK(d.as<Decision::Bind>()->binder == "Booker");
  CHECK(d.as<Decision::Bind>()->binding != nullptr);
  CHECK(h.engine.assumed() == 1);
  CHECK(h.cpu() == 3000);

  h.engine.put_pod(make_pod("p", "2"));
  CHECK(h.one().message() == "0/1 nodes are available: 1 Insufficient cpu.");
  const auto placed = Hotel::bound(booking, d);
  h.engine.put_object(placed);
  CHECK(h.engine.assumed() == 0);
  CHECK(h.cpu() == 3000);
  h.clock.advance(1min);
  CHECK(h.run().empty());

  // Who waits for the room hears of it.
  h.engine.remove_object(placed);
  CHECK(h.cpu() == 0);
  CHECK(h.one().as<Decision::Bind>()->binder == "DefaultBinder");
}

TEST_CASE("objects that were bound before the start count before the first pod is tried") {
  Hotel h;
  h.put_bound("b", "3");
  h.engine.put_object(make_booking("elsewhere", "2", [](Booking& b) { b.status.node = "m"; }));
  h.engine.put_pod(make_pod("p", "2"));
  CHECK(h.one().kind() == Kind::unschedulable);
  // The node of another one comes later.
  h.engine.put_node(make_node("m", "3"));
  h.clock.advance(1min);
  CHECK(h.one().kind() == Kind::unschedulable);
  CHECK(h.cpu("m") == 2000);
  h.engine.put_node(make_node("l"));
  h.clock.advance(1min);
  CHECK(h.one().node() == Symbol("l"));
}

TEST_CASE("an object that is at its end is neither queued nor counted") {
  const auto end = [](Booking& b) { b.status.phase = "Ended"; };
  Hotel h;
  SECTION("from the first") {
    h.engine.put_object(make_booking("b", "3", end));
    CHECK(h.engine.pods() == 0);
  }
  SECTION("while it waits") {
    const auto booking = make_booking("b", "5");
    h.engine.put_object(booking);
    CHECK(h.one().kind() == Kind::unschedulable);
    h.engine.put_object(changed(booking, end));
    CHECK(h.engine.queue_sizes().unschedulable == 0);
  }
  SECTION("while its binding is on its way") {
    const auto booking = make_booking("b", "3");
    h.engine.put_object(booking);
    const Decision d = h.one();
    h.engine.put_object(changed(booking, end));
    CHECK(h.cpu() == 0);
    CHECK_FALSE(h.engine.binding_failed(*d.pod));
  }
  SECTION("on its node") {
    const auto booking = h.put_bound("b", "3");
    h.engine.put_pod(make_pod("p", "2"));
    CHECK(h.one().kind() == Kind::unschedulable);
    h.engine.put_object(changed(booking, end));
    CHECK(h.cpu() == 0);
    h.clock.advance(1min);
    CHECK(h.one().kind() == Kind::bind);
  }
  CHECK(h.run().empty());
}

TEST_CASE("an object changes while it waits, while it is assumed, and on its node") {
  Hotel h;
  const auto booking = make_booking("b", "5");
  const auto of = [&](const char* cpu) { return changed(booking, [&](Booking& b) { b.spec.cpu = cpu; }); };
  h.engine.put_object(booking);
  CHECK(h.one().kind() == Kind::unschedulable);
  h.engine.put_object(of("3"));
  h.clock.advance(1min);
  const Decision d = h.one();
  REQUIRE(d.kind() == Kind::bind);

  // What it takes is what was decided about, until its binding fails.
  h.engine.put_object(of("2"));
  CHECK(h.cpu() == 3000);
  CHECK(h.engine.binding_failed(*d.pod));
  CHECK(h.cpu() == 0);
  h.clock.advance(1min);
  CHECK(h.one().kind() == Kind::bind);
  CHECK(h.cpu() == 2000);

  h.engine.put_object(changed(of("2"), [](Booking& b) { b.status.node = "n"; }));
  h.engine.put_object(changed(of("1"), [](Booking& b) { b.status.node = "n"; }));
  CHECK(h.cpu() == 1000);
  // It is moved by somebody.
  h.engine.put_node(make_node("m"));
  h.engine.put_object(changed(of("1"), [](Booking& b) { b.status.node = "m"; }));
  CHECK(h.cpu() == 0);
  CHECK(h.cpu("m") == 1000);
}

TEST_CASE(
    "an object that loses its place looks for another, and one in whose place another is made is that") {
  Hotel h;
  const auto booking = h.put_bound("b", "3");
  SECTION("its place") {
    h.engine.put_object(changed(booking, [](Booking& b) { b.status.node = {}; }));
    CHECK(h.cpu() == 0);
    CHECK(h.one().pod->metadata.uid == "uid-of-b");
  }
  SECTION("made again under its name") {
    h.engine.put_object(make_booking("b", "1", [](Booking& b) { b.metadata.uid = "another"; }));
    CHECK(h.cpu() == 0);
    CHECK(h.one().pod->metadata.uid == "another");
    CHECK(h.cpu() == 1000);
  }
}

TEST_CASE("a pod and objects of one name are told apart") {
  Hotel h;
  const auto pod = make_pod("b", "1");
  const auto elsewhere = make_booking("b", "1", [](Booking& b) {
    b.metadata.namespace_ = "other";
    b.metadata.uid = "uid-of-other";
  });
  h.engine.put_pod(pod);
  h.engine.put_object(make_booking("b", "1"));
  h.engine.put_object(elsewhere);
  std::vector<std::string> placed;
  const std::vector<Decision> all = h.run();
  for (const Decision& d : all) placed.push_back(described(*d.pod));
  CHECK(placed == std::vector<std::string>{"pod default/b", "booking default/b", "booking other/b"});
  CHECK(h.cpu() == 3000);
  h.engine.remove_pod(*pod);
  CHECK(h.cpu() == 2000);
  h.engine.remove_object(elsewhere);
  CHECK(h.cpu() == 1000);
  CHECK(h.engine.binding_failed(*all[1].pod));
  CHECK(h.cpu() == 0);
}

TEST_CASE("what an object is nominated to is kept for it") {
  Script script;
  script.post_filters["A"] = {{StatusCode::success, {}}, Symbol("n"), {}};
  Hotel h([](Plugins& p) { p.multi_point.enabled.push_back({"A", {}}); });
  const auto booking = make_booking("b", "5", [](Booking& b) { b.spec.priority = 5; });
  h.engine.put_object(booking);
  CHECK(h.one().nominate() == Symbol("n"));
  script.post_filters.clear();
  const auto told = changed(booking, [](Booking& b) { b.status.nominated = "n"; });
  h.engine.put_object(told);
  h.engine.put_pod(make_pod("p", "1"));
  CHECK(h.one().kind() == Kind::unschedulable);
  h.clock.advance(1min);
  SECTION("until it is taken back") {
    h.engine.put_object(booking);
    CHECK(h.run().back().kind() == Kind::bind);
  }
  SECTION("until it goes") {
    h.engine.remove_object(told);
    CHECK(h.engine.nominator().size() == 0);
    CHECK(h.one().kind() == Kind::bind);
  }
}

TEST_CASE("an object may have to make room for a pod, and a pod for an object") {
  Hotel h([](Plugins& p) {
    p.post_filter = {.enabled = {{"DefaultPreemption", {}}}, .disabled = {{"*", {}}}};
  });
  const auto victims = [](const Decision& d) {
    std::vector<std::string> all;
    for (const auto& v : d.preemption().victims) all.push_back(described(*v.pod));
    return all;
  };
  SECTION("for a pod") {
    const auto booking = h.put_bound("b", "3");
    h.engine.put_pod(make_pod("p", "2", "", [](api::Pod& p) { p.spec.priority = 10; }));
    const Decision d = h.one();
    CHECK(d.nominate() == Symbol("n"));
    CHECK(victims(d) == std::vector<std::string>{"booking default/b"});
    AttemptLog log(10);
    log.record(d, h.clock.now());
    CHECK(log.of("default", "p")->attempts.at(0).victims == std::vector<std::string>{"booking default/b"});
    h.engine.preempted(*d.pod, true);
    h.engine.put_object(changed(booking, [](Booking& b) { b.status.phase = "Ended"; }));
    h.clock.advance(1min);
    CHECK(h.one().kind() == Kind::bind);
  }
  SECTION("for an object") {
    h.engine.put_pod(make_pod("p", "3", "", [](api::Pod& p) { p.spec.node_name = "n"; }));
    h.engine.put_object(make_booking("b", "2", [](Booking& b) { b.spec.priority = 10; }));
    const Decision d = h.one();
    CHECK(victims(d) == std::vector<std::string>{"pod default/p"});
    AttemptLog log(10);
    log.record(d, h.clock.now());
    CHECK(log.of({}, "booking:default:b")->attempts.at(0).victims == std::vector<std::string>{"default/p"});
  }
}

TEST_CASE("who binds is the first plugin that does; of an object that none does nothing is said") {
  Hotel h([](Plugins& p) { p.bind.disabled = {{"Booker", {}}}; });
  SECTION("without a plugin for it") {
    h.engine.put_object(make_booking("b"));
    const Decision d = h.one();
    CHECK(d.as<Decision::Bind>()->binder.empty());
    CHECK(d.as<Decision::Bind>()->binding == nullptr);
  }
  SECTION("pods are the default binder's all the same") {
    h.engine.put_pod(make_pod("p"));
    CHECK(h.one().as<Decision::Bind>()->binder == "DefaultBinder");
  }
}

TEST_CASE("what an object has reserved is given back when it goes while its binding is on its way") {
  Script script;
  Hotel h([](Plugins& p) { p.multi_point.enabled.push_back({"A", {}}); });
  const auto booking = make_booking("b");
  h.engine.put_object(booking);
  SECTION("which fails then") {
    const Decision d = h.one();
    CHECK(d.as<Decision::Bind>()->binder == "Booker");
    CHECK(script.asked_text() == "A.reserve(booking:default:b) A.permit(booking:default:b)");
    h.engine.remove_object(booking);
    CHECK(h.cpu() == 0);
    CHECK_FALSE(h.engine.binding_failed(*d.pod));
    CHECK(script.asked_text() == "A.unreserve(booking:default:b)");
  }
  SECTION("or does not") {
    const Decision d = h.one();
    h.engine.put_object(Hotel::bound(booking, d));
    h.engine.binding_succeeded(*d.pod);
    CHECK(script.asked_text() ==
          "A.reserve(booking:default:b) A.permit(booking:default:b) A.post_bind(booking:default:b)");
  }
  SECTION("while it waits for a permit") {
    script.says["A.permit"] = {StatusCode::wait, {}};
    script.timeouts["A"] = 1min;
    CHECK(h.one().kind() == Kind::wait);
    h.engine.remove_object(booking);
    CHECK(h.engine.waiting() == 0);
    CHECK(script.asked_text().ends_with("A.unreserve(booking:default:b)"));
  }
  SECTION("and who binds it is asked when it is permitted") {
    script.says["A.permit"] = {StatusCode::wait, {}};
    script.timeouts["A"] = 1min;
    CHECK(h.one().kind() == Kind::wait);
    script.cycle->allow("uid-of-b", script.index['A']);
    const Decision d = h.one();
    CHECK(d.as<Decision::Bind>()->binder == "Booker");
    CHECK(d.as<Decision::Bind>()->binding != nullptr);
  }
}

TEST_CASE("an object that is being deleted is told so by what it is") {
  Hotel h;
  h.engine.put_object(
      make_booking("b", "1", [](Booking& b) { b.metadata.deletion_timestamp = api::Time(); }));
  CHECK(h.one().message() == "skip schedule deleting booking: default/b");
}

TEST_CASE("a kind is known by its type and its word") {
  struct Others final : PlacedObjects<api::Node> {
    explicit Others(std::string_view w) : called(w) {}
    std::string_view word() const override { return called; }
    std::optional<api::Pod> placeholder(const api::Node&) const override { return api::Pod(); }
    std::optional<ObjectPatch> failure(const api::Node&, const AttemptFailure&) const override { return {}; }
    std::string_view called;
  };
  PlacedKinds kinds;
  const auto first = std::make_shared<Bookings>();
  kinds.add(first);
  kinds.add(std::make_shared<Bookings>());  // of another profile
  CHECK(kinds.of(kube::kObjectType<Booking>) == first.get());
  CHECK(kinds.of(kube::kObjectType<api::Node>) == nullptr);
  CHECK_THROWS_AS(kinds.add(std::make_shared<Others>("booking")), std::logic_error);
  CHECK_THROWS_AS(kinds.add(std::make_shared<Others>("pod")), std::logic_error);
  const auto others = std::make_shared<Others>("place");
  kinds.add(others);

  const auto booking = make_booking("b");
  CHECK(kinds.of(*first->as_pod(booking)) == first.get());
  const auto node = others->as_pod(make_node("n"));
  CHECK(kinds.of(*node) == others.get());
  CHECK(node->metadata.name == "place:n");
  CHECK(node->metadata.namespace_ == Symbol("default"));
  CHECK(described(*node) == "place n");
  CHECK(kinds.of(*make_pod("booking")) == nullptr);
  CHECK(kinds.of(*make_pod("unknown:b")) == nullptr);
}

}  // namespace
}  // namespace koord::scheduling::test
