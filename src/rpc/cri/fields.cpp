// Fields: see fields.hpp.
#include "fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "koord/base/utf8.hpp"

namespace koord::rpc::cri {

namespace {

bool is_utf8(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    const int length = utf8_length(at, end);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

}  // namespace

std::string to_text(const std::string& bytes) { return is_utf8(bytes) ? bytes : std::string(); }

hooks::Map to_map(const Entries& entries) {
  hooks::Map map;
  map.reserve(static_cast<std::size_t>(entries.size()));
  bool sorted = true;
  for (const wire::cri::Entry& entry : entries) {
    if (!is_utf8(entry.key()) || !is_utf8(entry.value())) continue;
    sorted = sorted && (map.empty() || map.back().first < entry.key());
    map.emplace_back(entry.key(), entry.value());
  }
  if (sorted) return map;
  std::ranges::stable_sort(map, {}, &std::pair<std::string, std::string>::first);
  // The last of each name is the first of it from behind.
  const auto doubles =
      std::unique(map.rbegin(), map.rend(), [](const auto& a, const auto& b) { return a.first == b.first; });
  map.erase(map.begin(), doubles.base());
  return map;
}

void set_entries(Entries& entries, const hooks::Map& change) {
  if (change.empty()) return;
  std::unordered_map<std::string_view, wire::cri::Entry*> last;
  last.reserve(static_cast<std::size_t>(entries.size()));
  for (wire::cri::Entry& entry : entries) last[entry.key()] = &entry;
  for (const auto& [name, value] : change) {
    const auto found = last.find(name);
    if (found != last.end()) {
      found->second->set_value(value);
      continue;
    }
    wire::cri::Entry* const entry = entries.Add();
    entry->set_key(name);
    entry->set_value(value);
  }
}

void remove_entries(Entries& entries, const std::vector<std::string>& names) {
  if (names.empty()) return;
  const std::unordered_set<std::string_view> gone(names.begin(), names.end());
  int kept = 0;
  for (int i = 0; i < entries.size(); ++i) {
    if (gone.contains(entries.Get(i).key())) continue;
    if (kept != i) entries.SwapElements(kept, i);
    ++kept;
  }
  entries.DeleteSubrange(kept, entries.size() - kept);
}

hooks::PodMeta to_meta(const wire::cri::PodSandboxMetadata& message) {
  return {.name = to_text(message.name()),
          .uid = to_text(message.uid()),
          .ns = to_text(message.namespace_()),
          .attempt = message.attempt()};
}

hooks::ContainerMeta to_meta(const wire::cri::ContainerMetadata& message) {
  return {.name = to_text(message.name()), .attempt = message.attempt(), .id = {}};
}

hooks::Resources to_resources(const wire::cri::LinuxContainerResources& message) {
  hooks::Resources resources{.cpu_period = message.cpu_period(),
                             .cpu_quota = message.cpu_quota(),
                             .cpu_shares = message.cpu_shares(),
                             .memory_limit = message.memory_limit_in_bytes(),
                             .oom_score_adj = message.oom_score_adj(),
                             .cpuset_cpus = to_text(message.cpuset_cpus()),
                             .cpuset_mems = to_text(message.cpuset_mems()),
                             .hugepages = {},
                             .unified = to_map(message.unified()),
                             .memory_swap_limit = message.memory_swap_limit_in_bytes()};
  for (const wire::cri::HugepageLimit& limit : message.hugepage_limits()) {
    if (!is_utf8(limit.page_size())) continue;
    const auto found =
        std::ranges::find(resources.hugepages, limit.page_size(), &hooks::HugepageLimit::page_size);
    if (found == resources.hugepages.end())
      resources.hugepages.push_back({limit.page_size(), limit.limit()});
    else
      found->limit = limit.limit();
  }
  return resources;
}

void set_resources(wire::cri::LinuxContainerResources& message, const ResourceChange& change) {
  if (change.cpu_period) message.set_cpu_period(*change.cpu_period);
  if (change.cpu_quota) message.set_cpu_quota(*change.cpu_quota);
  if (change.cpu_shares) message.set_cpu_shares(*change.cpu_shares);
  if (change.memory_limit) message.set_memory_limit_in_bytes(*change.memory_limit);
  if (change.memory_swap_limit) message.set_memory_swap_limit_in_bytes(*change.memory_swap_limit);
  if (change.oom_score_adj) message.set_oom_score_adj(*change.oom_score_adj);
  if (change.cpuset_cpus) message.set_cpuset_cpus(*change.cpuset_cpus);
  if (change.cpuset_mems) message.set_cpuset_mems(*change.cpuset_mems);
  set_entries(*message.mutable_unified(), change.unified);
  for (const hooks::HugepageLimit& limit : change.hugepages) {
    wire::cri::HugepageLimit* last = nullptr;
    for (wire::cri::HugepageLimit& has : *message.mutable_hugepage_limits())
      if (has.page_size() == limit.page_size) last = &has;
    wire::cri::HugepageLimit& target = last != nullptr ? *last : *message.add_hugepage_limits();
    target.set_page_size(limit.page_size);
    target.set_limit(limit.limit);
  }
}

Result<> parse_message(google::protobuf::MessageLite& message, std::string_view bytes,
                       std::string_view what) {
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return {};
  return Error(Code::parse, fmt::format("{} bytes are no {}", bytes.size(), what));
}

}  // namespace koord::rpc::cri
