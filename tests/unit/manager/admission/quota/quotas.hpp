// ElasticQuotas in few words, and a cluster of them that takes what the rules allow.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admission/quota/quota_rules.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/base/manual_clock.hpp"

namespace koord::manager::testing {

/// `labels` without their prefix: "parent=a is-parent=true tree-id=t"; amounts: "cpu=1 memory=2".
struct QuotaText {
  std::string_view name, labels = {}, min = {}, max = {}, annotations = {}, ns = "default", used = {};
};

inline std::string members(std::string_view pairs, std::string_view prefix) {
  std::string out;
  while (!pairs.empty()) {
    const std::string_view pair = pairs.substr(0, pairs.find(' '));
    pairs.remove_prefix(std::min(pair.size() + 1, pairs.size()));
    const std::size_t equals = pair.find('=');
    out += fmt::format(R"({}"{}{}":"{}")", out.empty() ? "" : ",", prefix, pair.substr(0, equals),
                       pair.substr(equals + 1));
  }
  return out;
}

/// `annotations` are members of JSON.
inline std::string to_json(const QuotaText& text, std::string_view version = {}) {
  return fmt::format(
      R"({{"metadata":{{"name":"{}","namespace":"{}","resourceVersion":"{}","labels":{{{}}},"annotations":{{{}}}}},)"
      R"("spec":{{"min":{{{}}},"max":{{{}}}}},"status":{{"used":{{{}}}}}}})",
      text.name, text.ns, version, members(text.labels, "quota.scheduling.koordinator.sh/"), text.annotations,
      members(text.min, ""), members(text.max, ""), members(text.used, ""));
}

inline std::shared_ptr<const api::ElasticQuota> quota(const QuotaText& text, std::string_view version = {}) {
  return std::make_shared<const api::ElasticQuota>(
      api::decode<api::ElasticQuota>(to_json(text, version)).value());
}

inline QuotaCatalog::Version version_of(const QuotaText& text, std::string_view version = {}) {
  return std::make_shared<const QuotaVersion>(quota(text, version));
}

/// Each write that is allowed is seen at once, unless `sees` is false.
struct QuotaWorld {
  explicit QuotaWorld(QuotaRuleOptions options = {}) : rules(catalog, look_up(), options) {}

  /// Without a word: it is there.
  void put(const QuotaText& text) { catalog.set(quota(text, next())); }
  std::string create(const QuotaText& text) {
    const QuotaRuling ruling = rules.check_create(*version_of(text));
    again = ruling.again;
    if (ruling.wrong.empty()) written(version_of(text), text);
    return ruling.wrong;
  }
  std::string update(const QuotaText& text) {
    const auto before = catalog.find(text.ns, text.name);
    const auto old = before ? before : version_of({.name = text.name});
    const auto after = version_of(text, old->object->metadata.resource_version);
    const QuotaRuling ruling = rules.check_update(*old, *after);
    again = ruling.again;
    if (ruling.wrong.empty()) written(after, text);
    return ruling.wrong;
  }
  std::string remove(std::string_view name) {
    const auto before = catalog.find(name);
    const QuotaRuling ruling = rules.check_delete(before ? *before : *version_of({.name = name}));
    again = ruling.again;
    if (ruling.wrong.empty() && before) {
      if (sees)
        catalog.remove("default", name);
      else
        REQUIRE(catalog.remember_removed(before));
    }
    return ruling.wrong;
  }
  std::string pod(std::string_view label, std::string_view ns = "default") {
    const QuotaRuling ruling = rules.check_pod(label, ns, "p");
    again = ruling.again;
    return ruling.wrong;
  }

  ManualClock clock;
  QuotaCatalog catalog{clock};
  std::vector<std::pair<std::string, std::string>> pods;  // label, namespace
  QuotaRules rules;
  bool sees = true, again = false;

 private:
  QuotaPods look_up() {
    QuotaPods look;
    look.of_quota = [this](std::string_view label) {
      std::vector<std::string> names;
      for (std::size_t i = 0; i < pods.size(); ++i)
        if (pods[i].first == label) names.push_back(fmt::format("pod{}", i + 1));
      return names;
    };
    look.in_namespace = [this](std::string_view ns) {
      return std::ranges::any_of(pods, [&](const auto& pod) { return pod.second == ns; });
    };
    return look;
  }
  void written(const QuotaCatalog::Version& version, const QuotaText& text) {
    if (sees)
      put(text);
    else
      REQUIRE(catalog.remember(version));
  }
  std::string next() { return std::to_string(++version_); }

  int version_ = 0;
};

}  // namespace koord::manager::testing
