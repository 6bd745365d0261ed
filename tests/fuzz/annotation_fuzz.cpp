// The annotations of pods and nodes that the node agent reads: the first byte chooses one, the rest is its
// text. What makes no sense is warned about, and what is taken is bounded.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/hooks/hook_terms.hpp"
#include "framework/objects/pod_info.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "plugins.hpp"

using namespace koord;
using namespace koord::koordlet;

namespace {

constexpr std::int64_t kMaxMilli = 1'000'000'000, kMaxBytes = std::int64_t{1} << 50;

void check(bool holds) {
  if (!holds) std::abort();
}

/// As the agent has them.
PodTermsReaders all_readers() {
  static const std::vector<PodTermsReader> kAll = terms_readers(strategy_table());
  return kAll;
}

void check_pod(std::string_view text) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.uid = "u";
  pod->metadata.annotations["scheduling.koordinator.sh/resource-status"] = text;
  const auto read = read_pod(pod, host::CgroupDriver::systemd, {}, all_readers());
  check(read.has_value());
  if (!read->warnings.empty()) check(read->warnings.size() == 1 && !read->info.cpus);
  if (read->info.cpus) check(!read->info.cpus->empty());
  check(text.size() <= kMaxAnnotation || !read->warnings.empty());
}

void check_scores(std::string_view annotation, std::string_view text) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.uid = "u";
  pod->metadata.annotations[Symbol(annotation)] = text;
  const auto read = read_pod(pod, host::CgroupDriver::systemd, {}, all_readers());
  check(read.has_value());
  const HookTerms* const found = read->info.terms.find<HookTerms>();
  check(text.size() <= kMaxAnnotation || found == nullptr);
  if (found == nullptr) return;
  const HookTerms& terms = *found;
  check(terms.oom_scores.size() <= 1024);
  const auto fits = [](std::optional<std::int64_t> score) {
    return !score || (*score >= -1000 && *score <= 1000);
  };
  check(fits(terms.oom_score));
  for (const auto& [name, score] : terms.oom_scores) {
    check(fits(score) && terms.oom_score_of(name) == score);
    check(score || !read->warnings.empty());
  }
}

void check_node(std::string_view annotation, std::string_view text) {
  api::Node node;
  node.metadata.annotations[Symbol(annotation)] = text;
  std::vector<std::string> warnings;
  const NodeInfo info = read_node(node, warnings);
  check(info.reserved_milli_cpu >= 0 && info.reserved_milli_cpu <= kMaxMilli);
  check(info.allocatable_milli_cpu >= 0 && info.allocatable_milli_cpu <= kMaxMilli);
  check(info.allocatable_memory >= 0 && info.allocatable_memory <= kMaxBytes);
  if (!info.reserved_cpus.empty()) check(info.reserved_milli_cpu == 1000 * info.reserved_cpus.size());
  check(warnings.size() <= 2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'r': check_node("node.koordinator.sh/reservation", text); break;
    case 's': check_node("node.koordinator.sh/system-qos-resource", text); break;
    case 'a': check_node("node.koordinator.sh/raw-allocatable", text); break;
    case 'o': check_scores("koordinator.sh/oom-score-adj", text); break;
    case 'O': check_scores("koordinator.sh/oom-score-adj-spec", text); break;
    default: check_pod(text); break;
  }
  return 0;
}
