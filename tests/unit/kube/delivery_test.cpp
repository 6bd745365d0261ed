// The store with its indexes, and the coalescing queue that it feeds.
#include "koord/kube/delivery.hpp"

#include <catch2/catch.hpp>
#include <set>

#include "koord/api/types/core_v1/pod.hpp"
#include "support/run_task.hpp"

using namespace koord;
using namespace koord::kube;
using api::Pod;

namespace {

Object pod(std::string name, std::string rv, std::string node = "", std::string uid = "u") {
  auto object = std::make_shared<Pod>();
  object->metadata.name = std::move(name);
  object->metadata.namespace_ = "ns";
  object->metadata.resource_version = std::move(rv);
  object->metadata.uid = std::move(uid);
  object->metadata.labels["app"] = node + "-app";
  object->spec.node_name = node;
  return object;
}

struct Fixture {
  DeliveryQueue queue;
  DeliveryQueue::SourceId source = queue.add_source(kObjectType<Pod>);
  Store store{kObjectType<Pod>, [this](const Object& b, const Object& a) { queue.push(source, b, a); }};

  /// "+a.1" added, "~a.1.3" updated, "-a.3" deleted, with versions.
  std::string batch(std::size_t limit = SIZE_MAX) {
    std::string text;
    auto batch = queue.try_next(limit);
    if (!batch) return "nothing";
    for (const Change& change : batch->changes) {
      REQUIRE(change.is<Pod>());
      const auto before = change.old_object<Pod>(), after = change.new_object<Pod>();
      text += !before ? "+" : !after ? "-" : "~";
      text += (after ? after : before)->metadata.name;
      if (before) text += "." + before->metadata.resource_version;
      if (after) text += "." + after->metadata.resource_version;
      text += " ";
    }
    return text + (batch->synced ? "synced" : "");
  }
  void remove(std::string name) { store.remove({"ns", name}); }
  std::string names(std::string_view index, std::string_view value) {
    std::set<std::string> names;
    for (const Object& object : store.by_index(index, value))
      names.insert(static_cast<const Pod*>(object.get())->metadata.name);
    std::string text;
    for (const std::string& name : names) text += name;
    return text;
  }
};

}  // namespace

TEST_CASE("changes of one object between two looks become one") {
  struct Row {
    const char* script;  // letters: a put, d delete, r put with another uid
    const char* before;  // what the consumer had
    const char* expected;
  };
  const Row row = GENERATE(Row{"a", "", "+x.1 "}, Row{"aa", "", "+x.2 "}, Row{"aad", "", "nothing"},
                           Row{"ada", "", "+x.3 "}, Row{"a", "x", "~x.0.1 "}, Row{"aaa", "x", "~x.0.3 "},
                           Row{"d", "x", "-x.0 "}, Row{"ad", "x", "-x.0 "}, Row{"dr", "x", "~x.0.2 "},
                           Row{"drd", "x", "-x.0 "});
  CAPTURE(row.script, row.before);
  Fixture f;
  if (*row.before) {
    f.store.put(pod("x", "0"));
    REQUIRE(f.batch() == "+x.0 ");
  }
  int version = 0;
  for (const char* c = row.script; *c; ++c) {
    ++version;
    if (*c == 'd')
      f.remove("x");
    else
      f.store.put(pod("x", std::to_string(version), "", *c == 'r' ? "other" : "u"));
  }
  CHECK(f.batch() == row.expected);
  CHECK(f.batch() == "nothing");
  CHECK(f.queue.size() == 0);
}

TEST_CASE("changes come in order of each object's first, in pieces if asked") {
  Fixture f;
  f.store.put(pod("a", "1"));
  f.store.put(pod("b", "2"));
  f.store.put(pod("gone", "3"));
  f.store.put(pod("a", "4"));
  f.remove("gone");
  f.store.put(pod("c", "5"));
  CHECK(f.queue.size() == 3);
  CHECK(f.batch(2) == "+a.4 +b.2 ");
  f.store.put(pod("c", "6"));
  f.store.put(pod("a", "7"));
  CHECK(f.batch() == "+c.6 ~a.4.7 ");
}

TEST_CASE("several kinds of source feed one queue; synced is told once all are, with the last objects") {
  Fixture f;
  const auto second = f.queue.add_source(kObjectType<Pod>);
  f.store.put(pod("a", "1"));
  f.queue.push(second, {}, pod("a", "2"));
  f.queue.source_synced(f.source);
  CHECK(f.batch(1) == "+a.1 ");
  f.queue.source_synced(second);
  CHECK_FALSE(f.queue.synced());
  CHECK(f.batch() == "+a.2 synced");
  CHECK(f.queue.synced());
  f.queue.push(second, pod("a", "2"), {});
  CHECK(f.batch() == "-a.2 synced");
}

TEST_CASE("an empty collection syncs too") {
  Fixture f;
  CHECK(f.batch() == "nothing");
  f.queue.source_synced(f.source);
  CHECK(f.batch() == "synced");
  CHECK(f.batch() == "nothing");
}

TEST_CASE("a slow consumer holds as many changes as there are objects") {
  Fixture f;
  for (int i = 0; i < 10'000; ++i) f.store.put(pod("p" + std::to_string(i % 10), std::to_string(i)));
  CHECK(f.queue.size() == 10);
  f.queue.close();
  CHECK(f.batch() == "nothing");
  f.store.put(pod("late", "1"));
  CHECK(f.queue.size() == 0);
}

TEST_CASE("next waits, and ends when the queue is closed") {
  test::Loop loop;
  Fixture f;
  loop.clock.call_at(MonoTime{std::chrono::seconds{1}}, [&] { f.store.put(pod("a", "1")); });
  loop.clock.call_at(MonoTime{std::chrono::seconds{2}}, [&] { f.queue.close(); });
  const auto next = [](DeliveryQueue& queue) -> Task<int> {
    auto batch = co_await queue.next();
    co_return batch ? static_cast<int>(batch->changes.size()) : -1;
  };
  CHECK(test::run_task(loop, next(f.queue)) == 1);
  CHECK(test::run_task(loop, next(f.queue)) == -1);
}

TEST_CASE("the same version again is no change") {
  Fixture f;
  CHECK(f.store.put(pod("a", "1")));
  CHECK_FALSE(f.store.put(pod("a", "1")));
  CHECK(f.store.put(pod("a", "1", "", "another")));
  CHECK_FALSE(f.store.remove({"ns", "b"}));
}

TEST_CASE("indexes follow their objects") {
  Fixture f;
  f.store.put(pod("early", "1", "n1"));
  f.store.add_index(index<Pod>("node", [](const Pod& p) -> std::string_view { return p.spec.node_name; }));
  f.store.add_index(index_by_label(kObjectType<Pod>, "app"));
  f.store.put(pod("a", "2", "n1"));
  f.store.put(pod("b", "3", "n2"));
  f.store.put(pod("free", "4"));
  CHECK(f.names("node", "n1") == "aearly");
  CHECK(f.names("label:app", "n2-app") == "b");
  CHECK(f.names("node", "") == "");
  f.store.put(pod("a", "5", "n2"));
  CHECK(f.names("node", "n1") == "early");
  CHECK(f.names("node", "n2") == "ab");
  f.remove("b");
  CHECK(f.names("node", "n2") == "a");
  CHECK_THROWS_AS(f.store.by_index("nope", ""), std::logic_error);
}

TEST_CASE("a replacement removes what it does not name, also when begun twice") {
  Fixture f;
  for (const char* name : {"a", "b", "c"}) f.store.put(pod(name, "1"));
  f.batch();
  f.store.begin_replace();
  f.store.put(pod("a", "1"));
  f.store.begin_replace();  // the first try was cut
  f.store.put(pod("b", "2"));
  f.store.put(pod("c", "1"));
  f.store.put(pod("d", "9"));
  CHECK(f.store.end_replace() == 1);
  CHECK(f.batch() == "~b.1.2 +d.9 -a.1 ");
  CHECK(f.store.end_replace() == 0);
  CHECK(f.store.size() == 3);
  CHECK(f.store.find({"ns", "b"}) != nullptr);
}
