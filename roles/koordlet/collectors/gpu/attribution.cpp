// Whose processes use the GPUs: see attribution.hpp.
#include "collectors/gpu/attribution.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "koord/host/text.hpp"

namespace koord::koordlet {

namespace {

constexpr std::size_t kShortestId = 12;  // less of a name is no container's id

struct Owner {
  const PodInfo* pod = nullptr;
  const ContainerInfo* container = nullptr;  // null: the pod's, of no container that is known
};

/// "cri-containerd-ID.scope", "ID": the id.
std::string_view id_of(std::string_view folder) {
  constexpr std::string_view kScope = ".scope";
  if (!folder.ends_with(kScope)) return folder;
  folder.remove_suffix(kScope.size());
  return folder.substr(folder.rfind('-') + 1);
}

class Owners {
 public:
  explicit Owners(const Inventory& inventory) {
    for (const auto& pod : inventory.pods) {
      if (!pod->group.empty()) groups_.emplace(pod->group, Owner{pod.get()});
      for (const ContainerInfo& container : pod->containers) {
        if (!container.group.empty()) groups_.emplace(container.group, Owner{pod.get(), &container});
        if (container.id.size() >= kShortestId) ids_.emplace(container.id, Owner{pod.get(), &container});
      }
    }
  }

  /// `text` is a process's cgroups, "7:cpu,cpuacct:/kubepods/..." a line.
  Owner find(std::string_view text) const {
    std::string_view line;
    while (host::next_line(text, line)) {
      const std::size_t path = line.find(":/");
      if (path == std::string_view::npos) continue;
      if (const Owner owner = of_group(line.substr(path + 2)); owner.pod != nullptr) return owner;
    }
    return {};
  }

 private:
  Owner of_group(std::string_view path) const {
    // From the innermost outwards: a container's own is within its pod's.
    for (std::string_view at = path; !at.empty();) {
      if (const auto known = groups_.find(at); known != groups_.end()) return known->second;
      const std::size_t slash = at.rfind('/');
      at = slash == std::string_view::npos ? std::string_view() : at.substr(0, slash);
    }
    // From the outermost inwards: what a container makes within its own group may have any name.
    while (!path.empty()) {
      const std::size_t slash = path.find('/');
      if (const auto known = ids_.find(id_of(path.substr(0, slash))); known != ids_.end())
        return known->second;
      path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
    }
    return {};
  }

  std::unordered_map<std::string_view, Owner> groups_, ids_;
};

}  // namespace

GpuUse attribute(const host::GpuAnswer& answer, const Inventory& inventory, const CgroupsOf& cgroups) {
  GpuUse use;
  const auto crowded = [](const host::GpuCard& card) { return card.crowded && !card.mig; };
  use.complete = answer.bad.empty() && std::ranges::none_of(answer.cards, crowded);
  std::unordered_map<unsigned, std::size_t> places;  // by the driver's number
  for (const host::GpuCard& card : answer.cards) {
    if (card.mig || card.crowded) continue;
    places.emplace(card.index, use.cards.size());
    use.cards.push_back({.minor = card.minor,
                         .uuid = card.uuid,
                         .model = card.model,
                         .memory = card.memory,
                         .used = card.used,
                         .cores = card.cores,
                         .memory_controller = card.memory_controller,
                         .computing = {}});
  }
  if (answer.processes.empty()) return use;
  const Owners owners(inventory);
  std::unordered_map<pid_t, Owner> known;
  for (const host::GpuProcess& process : answer.processes) {
    const auto place = places.find(process.index);
    if (place == places.end()) continue;
    const GpuPart part{static_cast<double>(process.cores), static_cast<double>(process.memory)};
    use.cards[place->second].computing += part;
    const auto [of, added] = known.try_emplace(process.pid);
    if (added) of->second = owners.find(cgroups(process.pid));
    const auto [pod, container] = of->second;
    if (pod != nullptr) use.pods[pod->uid][place->second] += part;
    if (container != nullptr) use.containers[container->id][place->second] += part;
  }
  return use;
}

}  // namespace koord::koordlet
