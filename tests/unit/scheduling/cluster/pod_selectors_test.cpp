// PodSelectors: what is kept of label sets and selectors agrees with what each selector says of each pod.
#include "koord/scheduling/cluster/pod_selectors.hpp"

#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <set>

#include "koord/scheduling/classes/random.hpp"
#include "world.hpp"

namespace koord::scheduling::test {
namespace {

using Labels = api::SymbolMap;

struct Pods {
  const PodInfo& put(Row row, const char* name_of_namespace, const Labels& labels, bool terminating = false) {
    PodInfo& info = all.emplace_back();
    info.pod = make_pod("p", "1", "1Gi", [&](api::Pod& p) {
      p.metadata.namespace_ = name_of_namespace;
      p.metadata.labels = labels;
      if (terminating) p.metadata.deletion_timestamp = api::Time::parse("2026-01-01T00:00:00Z").value();
    });
    selectors.pod_added(row, info);
    return info;
  }

  PodSelectors selectors;
  std::deque<PodInfo> all;
};

api::LabelSelector where(const std::vector<api::LabelSelectorRequirement>& expressions,
                         const Labels& labels = {}) {
  api::LabelSelector selector;
  selector.match_labels = labels;
  selector.match_expressions = expressions;
  return selector;
}

/// Keeps the numbers that it is told of.
struct Sums final : SelectionObserver {
  void selection_changed(const PodSelector&, Row row, PodCount by) override {
    PodCount& sum = rows[row];
    sum.all += by.all;
    sum.terminating += by.terminating;
  }
  std::map<Row, PodCount> rows;
};

TEST_CASE("a selector selects by namespaces, namespaces' labels and labels") {
  const api::LabelSelector web = where({}, {{"app", "web"}});
  const api::LabelSelector all = where({});
  const api::LabelSelector prod = where({}, {{"env", "prod"}});
  const api::LabelSelector not_prod = where({{"env", "NotIn", {"prod"}}});
  const api::LabelSelector tiers = where({{"tier", "In", {"a", "b"}}, {"legacy", "DoesNotExist", {}}});
  const api::LabelSelector has_tier = where({{"tier", "Exists", {}}});
  struct Case {
    const char* name;
    PodSelectors::Term term;
    const char* name_of_namespace;
    Labels labels;
    bool selected;
  };
  const std::vector<Case> cases = {
      {"labels", {{"one"}, nullptr, &web}, "one", {{"app", "web"}, {"x", "y"}}, true},
      {"another value", {{"one"}, nullptr, &web}, "one", {{"app", "db"}}, false},
      {"no such label", {{"one"}, nullptr, &web}, "one", {}, false},
      {"another namespace", {{"one"}, nullptr, &web}, "two", {{"app", "web"}}, false},
      {"one of two namespaces", {{"one", "two"}, nullptr, &web}, "two", {{"app", "web"}}, true},
      {"no namespace at all", {{}, nullptr, &web}, "one", {{"app", "web"}}, false},
      {"no selector", {{"one"}, nullptr, nullptr}, "one", {{"app", "web"}}, false},
      {"an empty selector", {{"one"}, nullptr, &all}, "one", {}, true},
      {"all namespaces", {{}, &all, &web}, "anywhere", {{"app", "web"}}, true},
      {"namespaces by label", {{}, &prod, &web}, "shop", {{"app", "web"}}, true},
      {"namespaces by label, another", {{}, &prod, &web}, "one", {{"app", "web"}}, false},
      {"namespaces by name or label", {{"one"}, &prod, &web}, "one", {{"app", "web"}}, true},
      {"namespaces by absent label", {{}, &not_prod, &web}, "one", {{"app", "web"}}, true},
      {"namespaces by absent label, another", {{}, &not_prod, &web}, "shop", {{"app", "web"}}, false},
      {"In", {{"one"}, nullptr, &tiers}, "one", {{"tier", "b"}}, true},
      {"DoesNotExist", {{"one"}, nullptr, &tiers}, "one", {{"legacy", ""}, {"tier", "b"}}, false},
      {"Exists", {{"one"}, nullptr, &has_tier}, "one", {{"tier", ""}}, true},
  };
  // The pod comes first, the selector comes first, and it is asked beforehand.
  for (const bool pod_first : {true, false})
    for (const Case& c : cases) {
      INFO(c.name << " " << pod_first);
      Pods pods;
      const Labels labels = {{"env", "prod"}};
      pods.selectors.set_namespace("shop", &labels);
      PodSelectorRef selector;
      if (!pod_first) selector = pods.selectors.selector({{c.term}}).value();
      const PodInfo& pod = pods.put(3, c.name_of_namespace, c.labels);
      if (pod_first) selector = pods.selectors.selector({{c.term}}).value();
      CHECK(pods.selectors.selects(*selector, c.name_of_namespace, c.labels) == c.selected);
      CHECK(selector->sets().size() == (c.selected ? 1 : 0));
      CHECK(pods.selectors.label_set(pod).selected().size() == (c.selected ? 1 : 0));
    }
}

TEST_CASE("of several terms all must hold, and what is written alike is one selector") {
  Pods pods;
  const api::LabelSelector web = where({}, {{"app", "web"}}), a = where({{"tier", "In", {"a"}}});
  const PodSelectors::Term one{{"one"}, nullptr, &web}, two{{"two", "one"}, nullptr, &a};
  const PodSelectorRef both = pods.selectors.selector(std::vector{one, two}).value();
  pods.put(0, "one", {{"app", "web"}});
  pods.put(1, "one", {{"app", "web"}, {"tier", "a"}});
  pods.put(2, "two", {{"app", "web"}, {"tier", "a"}});
  REQUIRE(both->sets().size() == 1);
  CHECK(both->sets()[0].set->pods()[0].row == 1);
  const PodSelectorRef again = pods.selectors.selector(std::vector{two, one, two}).value();
  CHECK(again->id() == both->id());
  CHECK(pods.selectors.selectors() == 1);
}

TEST_CASE("what nobody holds is forgotten") {
  Pods pods;
  const api::LabelSelector web = where({}, {{"app", "web"}});
  {
    const PodSelectorRef selector = pods.selectors.selector({{{{"one"}, nullptr, &web}}}).value();
    const PodInfo& pod = pods.put(0, "one", {{"app", "web"}});
    CHECK(pods.selectors.label_sets() == 1);
    pods.selectors.pod_removed(0, pod);
    pods.all.clear();
    CHECK(pods.selectors.label_sets() == 0);
    CHECK(selector->sets().empty());
    pods.put(0, "one", {{"app", "web"}});
    CHECK(selector->sets().size() == 1);
  }
  CHECK(pods.selectors.selectors() == 0);
  CHECK(pods.selectors.label_set(pods.all[0]).selected().empty());
}

TEST_CASE("observers are told of pods, of those that end, and of namespaces whose labels change") {
  Pods pods;
  const api::LabelSelector web = where({}, {{"app", "web"}}), prod = where({}, {{"env", "prod"}});
  const PodSelectorRef selector = pods.selectors.selector({{{{}, &prod, &web}}}).value();
  Sums sums;
  selector->observe(sums);
  pods.put(1, "shop", {{"app", "web"}});
  pods.put(1, "shop", {{"app", "web"}}, true);
  const PodInfo& last = pods.put(2, "shop", {{"app", "web"}, {"x", ""}});
  CHECK(sums.rows.empty());
  const Labels labels = {{"env", "prod"}};
  pods.selectors.set_namespace("shop", &labels);
  CHECK(sums.rows[1].all == 2);
  CHECK(sums.rows[1].terminating == 1);
  CHECK(sums.rows[2].all == 1);
  pods.selectors.pod_removed(2, last);
  CHECK(sums.rows[2].all == 0);
  pods.selectors.set_namespace("shop", nullptr);
  CHECK(sums.rows[1].all == 0);
  CHECK(sums.rows[1].terminating == 0);
  selector->forget(sums);
}

TEST_CASE("malformed selectors are refused in Kubernetes' words and leave nothing behind") {
  Pods pods;
  const api::LabelSelector op = where({{"app", "Like", {"web"}}}), none = where({{"app", "In", {}}}),
                           key = where({}, {{"a b", "c"}}), good = where({});
  for (const auto& [selector, text] : {std::pair{&op, "\"Like\" is not a valid label selector operator"},
                                       {&none, "for 'in', 'notin' operators, values set can't be empty"},
                                       {&key, "name part must consist of alphanumeric characters"}}) {
    const auto as_labels = pods.selectors.selector({{{{"one"}, nullptr, selector}}});
    REQUIRE(!as_labels);
    CHECK_THAT(as_labels.error().message(), Catch::Contains(text));
    const auto as_namespaces = pods.selectors.selector({{{{"one"}, selector, &good}}});
    REQUIRE(!as_namespaces);
    CHECK_THAT(as_namespaces.error().message(), Catch::Contains(text));
  }
  CHECK(pods.selectors.selectors() == 0);
}

TEST_CASE("a giant selector is found by less of it and selects all the same") {
  Pods pods;
  std::vector<Symbol> values, namespaces;
  for (int i = 0; i < 10'000; ++i) values.emplace_back(fmt::format("v{}", i));
  for (int i = 0; i < 1'000; ++i) namespaces.emplace_back(fmt::format("n{}", i));
  const api::LabelSelector wide = where({{"app", "In", values}});
  std::vector<api::LabelSelectorRequirement> many(1'000, {"x", "NotIn", {"y"}});
  many.push_back({"app", "Exists", {}});
  const api::LabelSelector deep = where(many);
  const PodSelectorRef by_values = pods.selectors.selector({{{namespaces, nullptr, &wide}}}).value();
  const PodSelectorRef by_many = pods.selectors.selector({{{namespaces, nullptr, &deep}}}).value();
  pods.put(0, "n999", {{"app", "v9999"}});
  pods.put(1, "n1000", {{"app", "v9999"}});
  pods.put(2, "n7", {{"app", "w"}});
  CHECK(by_values->sets().size() == 1);
  CHECK(by_many->sets().size() == 2);
}

/// Pods and selectors come and go, namespaces change, and after each step all that is kept is compared.
TEST_CASE("what is kept agrees with each selector's answer on each pod") {
  Pods pods;
  Random random(7);
  const char* kNamespaces[] = {"one", "two", "three"};
  const char* kValues[] = {"a", "b", "c"};
  const auto some_labels = [&] {
    Labels labels;
    for (const char* key : {"app", "tier", "x"})
      if (random.below(3) != 0) labels[key] = kValues[random.below(3)];
    return labels;
  };
  const auto some_selector = [&] {
    api::LabelSelector s;
    for (const char* key : {"app", "tier", "x"}) {
      switch (random.below(7)) {
        case 0: s.match_labels[key] = kValues[random.below(3)]; break;
        case 1: s.match_expressions.push_back({key, "In", {"a", kValues[random.below(3)]}}); break;
        case 2: s.match_expressions.push_back({key, "NotIn", {kValues[random.below(3)]}}); break;
        case 3: s.match_expressions.push_back({key, "Exists", {}}); break;
        default: break;
      }
    }
    return s;
  };
  struct Held {
    PodSelectorRef selector;
    std::unique_ptr<Sums> sums = std::make_unique<Sums>();
  };
  std::map<int, std::pair<Row, std::unique_ptr<PodInfo>>> there;
  std::vector<Held> held;
  int next = 0;
  for (int step = 0; step < 1'000; ++step) {
    switch (random.below(8)) {
      case 0: {
        const Labels labels = some_labels();
        pods.selectors.set_namespace(kNamespaces[random.below(3)], random.below(4) == 0 ? nullptr : &labels);
        break;
      }
      case 1: {
        const api::LabelSelector labels = some_selector(), of_namespaces = some_selector();
        PodSelectors::Term term{{}, random.below(2) == 0 ? &of_namespaces : nullptr, &labels};
        for (const char* name : kNamespaces)
          if (random.below(2) == 0) term.namespaces.emplace_back(name);
        std::vector<PodSelectors::Term> terms{term};
        if (random.below(3) == 0) terms.push_back({{"one", "two"}, nullptr, &of_namespaces});
        Held h{pods.selectors.selector(terms).value()};
        h.selector->each_row([&](Row row, PodCount n) { h.sums->selection_changed(*h.selector, row, n); });
        h.selector->observe(*h.sums);
        held.push_back(std::move(h));
        break;
      }
      case 2:
        if (held.size() > 6) {
          const auto it = held.begin() + random.below(static_cast<std::uint32_t>(held.size()));
          it->selector->forget(*it->sums);
          held.erase(it);
        }
        break;
      case 3:
      case 4:
        if (!there.empty()) {
          const auto it = std::next(there.begin(), random.below(static_cast<std::uint32_t>(there.size())));
          pods.selectors.pod_removed(it->second.first, *it->second.second);
          there.erase(it);
        }
        break;
      default: {
        if (there.size() > 40) break;
        auto info = std::make_unique<PodInfo>();
        const Labels labels = some_labels();
        info->pod = make_pod("p", "1", "1Gi", [&](api::Pod& p) {
          p.metadata.namespace_ = kNamespaces[random.below(3)];
          p.metadata.labels = labels;
        });
        const Row row = random.below(5);
        pods.selectors.pod_added(row, *info);
        there.emplace(next++, std::pair(row, std::move(info)));
      }
    }
    bool agrees = true;
    for (const Held& h : held) {
      std::map<Row, std::int32_t> expected, walked;
      for (const auto& [id, pod] : there) {
        const api::ObjectMeta& meta = pod.second->pod->metadata;
        if (pods.selectors.selects(*h.selector, meta.namespace_, meta.labels)) ++expected[pod.first];
      }
      h.selector->each_row([&](Row row, PodCount n) { walked[row] += n.all; });
      agrees = agrees && walked == expected;
      for (const auto& [row, sum] : h.sums->rows) agrees = agrees && sum.all == expected[row];
    }
    REQUIRE(agrees);
  }
}

}  // namespace
}  // namespace koord::scheduling::test
