// Pods of preemption's vectors, made of a few words.
#pragma once

#include <charconv>
#include <deque>
#include <sstream>
#include <string>
#include <vector>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"
#include "support/tsv.hpp"

namespace koord::scheduling::test {

/// "name word...": a priority (neg -100, low 0, mid 100, high 1000, top 10000), a size (small 100, medium
/// 200, large 300, whole 500 milli-CPU), t5: started 5 s after the epoch, key=value: a label, @ns: its
/// namespace.
inline PodInfo pod_of(const std::string& text) {
  auto pod = std::make_shared<api::Pod>();
  PodInfo info;
  std::istringstream words(text);
  std::string word;
  words >> pod->metadata.name;
  pod->metadata.namespace_ = "default";
  while (words >> word) {
    static const std::vector<std::pair<std::string, std::int32_t>> kPriorities = {
        {"neg", -100}, {"low", 0}, {"mid", 100}, {"high", 1000}, {"top", 10000}};
    static const std::vector<std::pair<std::string, std::int64_t>> kSizes = {
        {"small", 100}, {"medium", 200}, {"large", 300}, {"whole", 500}};
    for (const auto& [name, priority] : kPriorities)
      if (word == name) info.priority = priority;
    for (const auto& [name, size] : kSizes)
      if (word == name) info.requests.cpu = size;
    if (const auto equals = word.find('='); equals != std::string::npos)
      pod->metadata.labels[word.substr(0, equals)] = Symbol(word.substr(equals + 1));
    else if (word[0] == '@')
      pod->metadata.namespace_ = Symbol(word.substr(1));
    else if (word[0] == 't' && word != "top")
      pod->status.start_time = api::Time(WallTime(std::chrono::seconds(std::stoi(word.substr(1)))));
  }
  info.pod = std::move(pod);
  return info;
}

/// The parts between "; ", none of an empty text.
inline std::deque<PodInfo> pods_of(const std::string& text) {
  std::deque<PodInfo> pods;
  for (const std::string& part : koord::test::split(text, ';'))
    if (part.find_first_not_of(' ') != std::string::npos) pods.push_back(pod_of(part));
  return pods;
}

inline std::vector<const PodInfo*> pointers(const std::deque<PodInfo>& pods) {
  std::vector<const PodInfo*> all;
  for (const PodInfo& pod : pods) all.push_back(&pod);
  return all;
}

/// "selector allowed disrupted,..." of default/NAME, or of another namespace: "@ns selector allowed".
inline api::PodDisruptionBudget budget_of(const std::string& text, std::string name = "b") {
  api::PodDisruptionBudget budget;
  budget.metadata.name = std::move(name);
  budget.metadata.namespace_ = "default";
  std::istringstream words(text);
  std::string word;
  for (int place = 0; words >> word;) {
    if (word[0] == '@') {
      budget.metadata.namespace_ = Symbol(word.substr(1));
      continue;
    }
    if (place == 0 && word != "-") {
      api::LabelSelector selector;
      if (const auto equals = word.find('='); equals != std::string::npos)
        selector.match_labels[word.substr(0, equals)] = Symbol(word.substr(equals + 1));
      budget.spec.selector = selector;
    }
    if (place == 1) budget.status.disruptions_allowed = std::stoi(word);
    if (place == 2)
      for (const std::string& pod : koord::test::split(word, ',')) budget.status.disrupted_pods[pod] = {};
    ++place;
  }
  return budget;
}

}  // namespace koord::scheduling::test
