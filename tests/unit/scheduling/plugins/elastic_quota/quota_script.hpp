// Sequences about a tree of quotas, in lines: what happens, and what then is.
//
//   total AMOUNTS                          what there is
//   quota NAME PARENT MAX MIN [WEIGHT] [keeps]  added or changed; "keeps": it does not lend; PARENT "root"
//   remove NAME
//   pod ID QUOTA REQUESTS [kept] [runs]    "kept": not preemptible
//   changed ID REQUESTS [kept]
//   runs ID, waits ID, moves ID QUOTA, gone ID
//   FIGURE NAME AMOUNTS                    runtime, request, child, limited, used, self-request, self-used,
//                                          kept-request, kept-used, allocated, guaranteed, min (scaled)
//   free AMOUNTS                           what is left for quotas
//
// AMOUNTS is cpu/memory, or cpu/memory/x; cpu in cores, or with m; G is GiB; "-" where it is not named.
#pragma once

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "koord/api/koordinator/quota.hpp"
#include "scheduling/plugins/elastic_quota/tree.hpp"

namespace koord::scheduling::elastic_quota::test {

struct QuotaScript {
  static constexpr ResourceId kX = kFirstScalar;
  static constexpr ResourceId kResources[] = {kCpu, kMemory, kX};

  explicit QuotaScript(TreeOptions options = {}) : tree(options) {
    run("quota system root 1844674407370955/1844674407370955161 -/- 0/0");
    run("quota default root 1844674407370955/1844674407370955161 -/- 0/0");
  }

  static std::string full(const std::string& name) {
    if (name == "root") return std::string(api::kRootQuota);
    if (name == "system") return std::string(api::kSystemQuota);
    if (name == "default") return std::string(api::kDefaultQuota);
    return name;
  }
  QuotaId id(const std::string& name) const { return tree.find(full(name)); }

  static Amounts amounts(const std::string& text) {
    Amounts all;
    std::istringstream parts(text);
    std::string part;
    for (std::size_t i = 0; std::getline(parts, part, '/'); ++i) {
      if (part == "-") continue;
      std::int64_t amount = std::stoll(part);
      if (part.back() == 'G') amount <<= 30;
      if (i == 0 && part.back() != 'm') amount *= 1000;
      all.push_back({kResources[i], amount});
    }
    return all;
  }

  /// Absent: not named.
  std::optional<std::int64_t> figure(const std::string& what, const std::string& name, ResourceId r) {
    if (what == "free") return tree.free_total(r);
    const QuotaFigures& f = tree.figures(id(name), r);
    if (what == "runtime") return tree.runtime(id(name), r);
    if (what == "min") return tree.scaled_min(id(name), r);
    static const std::map<std::string, std::int64_t QuotaFigures::*> kFigures = {
        {"request", &QuotaFigures::request},
        {"child", &QuotaFigures::child_request},
        {"limited", &QuotaFigures::limited},
        {"used", &QuotaFigures::used},
        {"self-request", &QuotaFigures::self_request},
        {"self-used", &QuotaFigures::self_used},
        {"kept-request", &QuotaFigures::non_preemptible_request},
        {"kept-used", &QuotaFigures::non_preemptible_used},
        {"allocated", &QuotaFigures::allocated},
        {"guaranteed", &QuotaFigures::guaranteed}};
    return f.*kFigures.at(what);
  }

  void run(const std::string& script) {
    std::istringstream lines(script);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream in(line);
      std::vector<std::string> words;
      for (std::string word; in >> word;) words.push_back(word);
      if (words.empty()) continue;
      INFO(line);
      step(words);
    }
  }

  QuotaTree tree;
  std::map<std::string, PodId> pods;

 private:
  void step(const std::vector<std::string>& w) {
    const auto has = [&](const char* word) { return std::find(w.begin(), w.end(), word) != w.end(); };
    if (w[0] == "total") return tree.set_total(amounts(w[1]));
    if (w[0] == "quota") {
      QuotaSpec spec{.name = full(w[1]), .parent = full(w[2])};
      spec.lends = !has("keeps");
      spec.max = spec.weight = amounts(w[3]);
      spec.min = amounts(w[4]);
      if (w.size() > 5 && w[5] != "keeps") spec.weight = amounts(w[5]);
      tree.put(spec);
      return;
    }
    if (w[0] == "remove") return tree.remove(id(w[1]));
    if (w[0] == "pod") {
      pods[w[1]] = tree.add_pod(id(w[2]), amounts(w[3]), !has("kept"), has("runs"));
      return;
    }
    if (w[0] == "changed") return tree.change_pod(pods.at(w[1]), amounts(w[2]), !has("kept"));
    if (w[0] == "runs") return tree.assign_pod(pods.at(w[1]), true);
    if (w[0] == "waits") return tree.assign_pod(pods.at(w[1]), false);
    if (w[0] == "moves") return tree.move_pod(pods.at(w[1]), id(w[2]));
    if (w[0] == "gone") {
      tree.remove_pod(pods.at(w[1]));
      pods.erase(w[1]);
      return;
    }
    const bool of_tree = w[0] == "free";
    const Amounts expected = amounts(of_tree ? w[1] : w[2]);
    for (const Amount& amount : expected) {
      INFO("resource " << amount.resource);
      const auto got = figure(w[0], of_tree ? "root" : w[1], amount.resource);
      REQUIRE(got);
      CHECK(*got == amount.amount);
    }
    if (w[0] != "runtime") return;
    for (const ResourceId r : kResources) {
      const bool named = std::any_of(expected.begin(), expected.end(),
                                     [&](const Amount& amount) { return amount.resource == r; });
      if (!named && tree.figures(id(w[1]), r).in_max()) FAIL("resource " << r << " is in its max");
    }
  }
};

}  // namespace koord::scheduling::elastic_quota::test
