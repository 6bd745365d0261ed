// AttachedVolumes: see attached_volumes.hpp.
#include "scheduling/plugins/node_volume_limits/attached_volumes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <tuple>

#include "koord/api/types/core_v1/pod.hpp"
#include "scheduling/volumes/pod_claims.hpp"

namespace koord::scheduling::node_volume_limits {

namespace {

/// Some order that is quick; nobody sees it.
struct BySymbol {
  static const Symbol& of(const Symbol& s) { return s; }
  static const Symbol& of(const std::pair<Symbol, std::size_t>& p) { return p.first; }
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return of(a).hash() < of(b).hash();
  }
};

template <class T>
void keep_each_once(std::vector<T>& all) {
  std::sort(all.begin(), all.end(), BySymbol());
  const auto same = [](const T& a, const T& b) { return BySymbol::of(a) == BySymbol::of(b); };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
}

std::string claim_key(std::string_view ns, std::string_view name) { return fmt::format("{}/{}", ns, name); }

Symbol bound_name(const Symbol& driver, std::string_view handle) {
  return fmt::format("{}/{}", driver.view(), handle);
}
/// No handle begins with a zero byte.
Symbol unbound_name(const Symbol& driver, const api::ObjectMeta& claim) {
  return fmt::format("{}/{}{}/{}", driver.view(), '\0', claim.namespace_.view(), claim.name);
}

/// What is both the driver's own and once a plugin's counts everywhere, and once.
void count_each_once(std::vector<CountedVolume>& all) {
  const auto order = [](const CountedVolume& v) { return std::tuple(v.name.view(), v.was != nullptr); };
  std::ranges::sort(all, {}, order);
  const auto again = std::ranges::unique(all, {}, &CountedVolume::name);
  all.erase(again.begin(), again.end());
}

/// What counts of a PersistentVolume is the same.
bool alike(const api::PersistentVolume& a, const api::PersistentVolume& b) {
  const auto is = [](const api::PersistentVolume& v) {
    if (v.spec.csi) return std::pair(v.spec.csi->driver.view(), v.spec.csi->volume_handle);
    const auto in_tree = volumes::in_tree_volume(v);
    if (!in_tree) return std::pair(std::string_view(), std::string());
    return std::pair(in_tree->plugin->name, in_tree->handle ? *in_tree->handle : std::string());
  };
  return is(a) == is(b);
}

/// It is about a volume at a node.
bool tells(const api::VolumeAttachment* a) {
  return a != nullptr && !a->spec.attacher.empty() && a->spec.source.persistent_volume_name;
}

bool tells_the_same(const api::VolumeAttachment& a, const api::VolumeAttachment& b) {
  return a.spec.node_name == b.spec.node_name && a.spec.attacher == b.spec.attacher &&
         a.spec.source.persistent_volume_name == b.spec.source.persistent_volume_name;
}

const Symbol* migrated_plugins(const NodeVolumes& node) {
  return node.csi ? node.csi->metadata.annotations.find(volumes::kMigratedPlugins) : nullptr;
}

}  // namespace

bool NodeVolumes::has(const Symbol& volume) const {
  return std::binary_search(volumes.begin(), volumes.end(), volume, BySymbol());
}

AttachedVolumes::AttachedVolumes(const PluginContext& context)
    : nodes_(context.nodes),
      claims_(context.objects.watch<api::PersistentVolumeClaim>()),
      volumes_(context.objects.watch<api::PersistentVolume>()),
      classes_(context.objects.watch<api::StorageClass>()),
      csi_nodes_(context.objects.watch<api::CsiNode>()) {
  context.observe(*this);
  claims_.on_change([this](const auto* before, const auto* now) {
    compared_ = false;
    const bool counts_the_same = before != nullptr && now != nullptr &&
                                 before->metadata.uid == now->metadata.uid &&
                                 before->spec.volume_name == now->spec.volume_name &&
                                 volumes::class_of(*before) == volumes::class_of(*now) &&
                                 before->metadata.owner_references == now->metadata.owner_references;
    if (!counts_the_same) claim_changed((now != nullptr ? now : before)->metadata);
  });
  volumes_.on_change([this](const auto* before, const auto* now) {
    compared_ = false;
    if (before == nullptr || now == nullptr || !alike(*before, *now))
      volume_changed((now != nullptr ? now : before)->metadata.name);
  });
  classes_.on_change([this](const auto* before, const auto* now) {
    compared_ = false;
    if (before != nullptr && now != nullptr && before->provisioner == now->provisioner) return;
    for (Row row = 0; row < rows_.size(); ++row) claims_changed(row);
  });
  csi_nodes_.on_change([this](const auto* before, const auto* now) {
    compared_ = false;
    changed(nodes_.find((now != nullptr ? now : before)->metadata.name));
  });
  context.objects.watch<api::VolumeAttachment>().on_change([this](const auto* before, const auto* now) {
    compared_ = false;
    if (before != nullptr && now != nullptr && tells_the_same(*before, *now)) return;
    attach(before, true);
    attach(now, false);
  });
}

// What counts of a pod

bool AttachedVolumes::concerns(const api::Pod& pod) {
  return std::any_of(pod.spec.volumes.begin(), pod.spec.volumes.end(), [](const api::Volume& v) {
    return v.persistent_volume_claim || v.ephemeral || volumes::in_tree_volume(v);
  });
}

PodVolumes AttachedVolumes::of(const api::Pod& pod) const { return find(pod, nullptr); }

PodVolumes AttachedVolumes::find(const api::Pod& pod, std::vector<Symbol>* read) const {
  PodVolumes out;
  const auto complain = [&](std::string& of, std::string what) {
    if (out.missing.empty() && out.error.empty()) of = std::move(what);
  };
  for (const api::Volume& v : pod.spec.volumes) {
    const auto in_tree = volumes::in_tree_volume(v);
    if (!in_tree) continue;
    const Symbol driver(in_tree->plugin->driver);
    if (in_tree->handle) {
      out.counted.push_back({driver, bound_name(driver, *in_tree->handle), in_tree->plugin});
    } else if (out.broken == nullptr) {
      out.broken = in_tree->plugin;
      out.broken_error = fmt::format("converting volume({}) from inline to csi: {}", v.name.view(),
                                     in_tree->handle.error().message());
    }
  }
  for (const volumes::PodClaim& c : volumes::claims_of(pod)) {
    if (c.name.empty()) {
      complain(out.error, "PersistentVolumeClaim had no name");
      continue;
    }
    const auto claim = claims_.find(pod.metadata.namespace_, c.name);
    if (!claim) {
      complain(out.missing, fmt::format("looking up PVC {}/{}: persistentvolumeclaim \"{}\" not found",
                                        pod.metadata.namespace_.view(), c.name, c.name));
    } else if (c.ephemeral && !volumes::made_for(*claim, pod)) {
      complain(out.error, volumes::not_made_for(*claim, pod));
    } else {
      count_claim(*claim, read, out);
    }
  }
  count_each_once(out.counted);
  return out;
}

void AttachedVolumes::count_claim(const api::PersistentVolumeClaim& claim, std::vector<Symbol>* read,
                                  PodVolumes& out) const {
  const Symbol& name = claim.spec.volume_name;
  if (name.empty()) return count_unbound(claim, out);
  if (read != nullptr) read->push_back(name);
  const auto volume = volumes_.find({}, name);
  // It is gone, or not there yet.
  if (!volume) return count_unbound(claim, out);
  if (const auto& csi = volume->spec.csi) {
    if (!csi->driver.empty() && !csi->volume_handle.empty())
      out.counted.push_back({csi->driver, bound_name(csi->driver, csi->volume_handle)});
    return;
  }
  const auto in_tree = volumes::in_tree_volume(*volume);
  if (!in_tree || !in_tree->handle || in_tree->handle->empty()) return;
  const Symbol driver(in_tree->plugin->driver);
  out.counted.push_back({driver, bound_name(driver, *in_tree->handle), in_tree->plugin});
}

/// As a volume of its own, of whoever would make it.
void AttachedVolumes::count_unbound(const api::PersistentVolumeClaim& claim, PodVolumes& out) const {
  const std::string_view name = volumes::class_of(claim);
  const auto storage_class = name.empty() ? nullptr : classes_.find({}, name);
  if (!storage_class || storage_class->provisioner.empty()) return;
  const volumes::InTreePlugin* was = volumes::in_tree_plugin(storage_class->provisioner);
  const Symbol driver = was != nullptr ? Symbol(was->driver) : storage_class->provisioner;
  out.counted.push_back({driver, unbound_name(driver, claim.metadata), was});
}

// What counts on a node

const NodeVolumes& AttachedVolumes::reckoned(Row row) {
  if (row >= rows_.size()) rows_.resize(nodes_.rows());
  NodeVolumes& node = rows_[row];
  node.csi = csi_nodes_.find({}, nodes_.name(row));
  node.drivers.clear();
  if (node.csi)
    for (const api::CsiNodeDriver& d : node.csi->spec.drivers)
      if (d.allocatable && d.allocatable->count && node.driver(d.name) == nullptr)
        node.drivers.push_back({d.name, *d.allocatable->count});
  read_pods(node, row);
  reckon(node, row);
  node.fresh = true;
  return node;
}

/// Where there are no limits nobody need know.
void AttachedVolumes::read_pods(NodeVolumes& node, Row row) {
  if (node.drivers.empty()) return;
  for (NodeVolumes::OfPod& p : node.pods) {
    if (p.fresh) continue;
    std::vector<Symbol> read;
    p.counted = find(*p.pod->pod, &read).counted;
    p.fresh = true;
    reads(row, p.read, std::move(read));
  }
  std::vector<Symbol> read;
  if (const auto there = attachments_.find(nodes_.name(row)); there != attachments_.end())
    for (const auto& [name, a] : there->second) read.push_back(a.volume);
  reads(row, node.read, std::move(read));
}

void AttachedVolumes::reckon(NodeVolumes& node, Row row) const {
  node.volumes.clear();
  if (node.drivers.empty()) return;
  const auto place = [&](const Symbol& driver) -> std::size_t {
    const NodeVolumes::Driver* d = node.driver(driver);
    return d != nullptr ? static_cast<std::size_t>(d - node.drivers.data()) : node.drivers.size();
  };
  for (const NodeVolumes::OfPod& p : node.pods)
    for (const CountedVolume& v : p.counted)
      if (const std::size_t at = place(v.driver); at < node.drivers.size() && v.counts_on(node.csi.get()))
        node.volumes.emplace_back(v.name, at);
  keep_each_once(node.volumes);
  for (NodeVolumes::Driver& d : node.drivers) d.attached = 0;
  for (const auto& [name, at] : node.volumes) ++node.drivers[at].attached;
  const auto there = attachments_.find(nodes_.name(row));
  if (there == attachments_.end()) return;
  std::vector<std::pair<Symbol, std::size_t>> others;
  for (const auto& [attachment, a] : there->second) {
    const std::size_t at = place(a.attacher);
    const auto volume = at < node.drivers.size() ? volumes_.find({}, a.volume) : nullptr;
    if (!volume || !volume->spec.csi) continue;
    if (const Symbol name = bound_name(a.attacher, volume->spec.csi->volume_handle); !node.has(name))
      others.emplace_back(name, at);
  }
  keep_each_once(others);
  for (const auto& [name, at] : others) ++node.drivers[at].attached;
}

NodeVolumes AttachedVolumes::as_in(const NodeView& view) {
  NodeVolumes node = on(view.row());
  if (view.plain() || node.drivers.empty()) return node;
  std::erase_if(node.pods, [&](const NodeVolumes::OfPod& p) {
    return std::find(view.removed().begin(), view.removed().end(), p.pod) != view.removed().end();
  });
  for (const PodInfo* pod : view.added()) node.pods.push_back({.pod = pod, .counted = of(*pod->pod).counted});
  reckon(node, view.row());
  return node;
}

// Changes

void AttachedVolumes::pod_added(Row row, const PodInfo& pod) {
  if (!concerns(*pod.pod)) return;
  if (row >= rows_.size()) rows_.resize(nodes_.rows());
  rows_[row].pods.push_back({.pod = &pod});
  for (const volumes::PodClaim& c : volumes::claims_of(*pod.pod))
    claim_rows_[claim_key(pod.pod->metadata.namespace_, c.name)].insert(row);
  changed(row);
}

void AttachedVolumes::pod_removed(Row row, const PodInfo& pod) {
  if (!concerns(*pod.pod)) return;
  std::vector<NodeVolumes::OfPod>& pods = rows_[row].pods;
  const auto there = std::find_if(pods.begin(), pods.end(), [&](const auto& p) { return p.pod == &pod; });
  reads(row, there->read, {});
  pods.erase(there);
  for (const volumes::PodClaim& c : volumes::claims_of(*pod.pod)) {
    const auto it = claim_rows_.find(claim_key(pod.pod->metadata.namespace_, c.name));
    it->second.erase(it->second.find(row));
    if (it->second.empty()) claim_rows_.erase(it);
  }
  changed(row);
}

void AttachedVolumes::node_changed(Row row, const api::Node* before, const api::Node* now) {
  if (before == nullptr || now == nullptr) changed(row);
}

void AttachedVolumes::attach(const api::VolumeAttachment* attachment, bool gone) {
  if (!tells(attachment)) return;
  const Symbol& node = attachment->spec.node_name;
  auto& there = attachments_[node];
  if (gone)
    there.erase(attachment->metadata.name);
  else
    there.insert_or_assign(
        attachment->metadata.name,
        Attachment{attachment->spec.attacher, *attachment->spec.source.persistent_volume_name});
  if (there.empty()) attachments_.erase(node);
  changed(nodes_.find(node));
}

void AttachedVolumes::changed(Row row) {
  if (row >= rows_.size() || !rows_[row].fresh) return;
  rows_[row].fresh = false;
  if (!std::exchange(rows_[row].stale, true)) stale_.push_back(row);
}

void AttachedVolumes::claims_changed(Row row) {
  for (NodeVolumes::OfPod& p : rows_[row].pods) p.fresh = false;
  changed(row);
}

void AttachedVolumes::claim_changed(const api::ObjectMeta& claim) {
  const auto it = claim_rows_.find(claim_key(claim.namespace_, claim.name));
  if (it == claim_rows_.end()) return;
  for (const Row row : it->second) claims_changed(row);
}

void AttachedVolumes::volume_changed(const Symbol& name) {
  const auto it = volume_rows_.find(name);
  if (it == volume_rows_.end()) return;
  for (const Row row : it->second) claims_changed(row);
}

void AttachedVolumes::reads(Row row, std::vector<Symbol>& before, std::vector<Symbol> now) {
  for (const Symbol& name : now) volume_rows_[name].insert(row);
  for (const Symbol& name : before) {
    const auto it = volume_rows_.find(name);
    it->second.erase(it->second.find(row));
    if (it->second.empty()) volume_rows_.erase(it);
  }
  before = std::move(now);
}

const AttachedVolumes::Eased& AttachedVolumes::eased() {
  if (std::exchange(compared_, true)) return eased_;
  eased_ = {};
  for (const Row row : std::exchange(stale_, {})) {
    rows_[row].stale = false;
    if (rows_[row].fresh) continue;
    const NodeVolumes before = rows_[row];
    compare(before, on(row));
  }
  return eased_;
}

void AttachedVolumes::compare(const NodeVolumes& before, const NodeVolumes& now) {
  const Symbol *was_migrated = migrated_plugins(before), *migrated = migrated_plugins(now);
  const bool same =
      was_migrated == nullptr ? migrated == nullptr : migrated != nullptr && *was_migrated == *migrated;
  for (const NodeVolumes::Driver& b : before.drivers) {
    const NodeVolumes::Driver* n = now.driver(b.name);
    if (n == nullptr || !same || n->limit - n->attached > b.limit - b.attached)
      eased_.drivers.push_back(b.name);
  }
  for (const auto& [name, at] : now.volumes)
    if (!before.has(name)) eased_.volumes.push_back(name);
  if (!now.csi || now.csi == before.csi) return;
  for (const api::CsiNodeDriver& d : now.csi->spec.drivers) {
    const auto is = [&](const api::CsiNodeDriver& b) { return b.name == d.name; };
    if (!before.csi || std::none_of(before.csi->spec.drivers.begin(), before.csi->spec.drivers.end(), is))
      eased_.installed.push_back(d.name);
  }
}

}  // namespace koord::scheduling::node_volume_limits
