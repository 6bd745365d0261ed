// PlacedKinds, and what the placeholders of all kinds have in common: see placed_kind.hpp,
// placed_objects.hpp.
#include "koord/scheduling/plugin/placed_kind.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/plugin/placed_objects.hpp"

namespace koord::scheduling {

void PlacedKinds::add(std::shared_ptr<const PlacedKind> kind) {
  if (of(kind->type()) != nullptr) return;
  const auto taken = [&](std::string_view word) { return kind->word() == word; };
  bool known = taken("pod");
  for (const auto& each : kinds_) known = known || taken(each->word());
  if (known) throw std::logic_error(fmt::format("two kinds of placed objects are called {}", kind->word()));
  kinds_.push_back(std::move(kind));
}

const PlacedKind* PlacedKinds::of(const kube::ObjectType& type) const {
  for (const auto& kind : kinds_)
    if (&kind->type() == &type) return kind.get();
  return nullptr;
}

const PlacedKind* PlacedKinds::of(const api::Pod& pod) const {
  if (kinds_.empty() || !is_placeholder(pod)) return nullptr;
  const std::string_view word = placed_name(pod).word;
  for (const auto& kind : kinds_)
    if (kind->word() == word) return kind.get();
  return nullptr;
}

std::shared_ptr<const api::Pod> as_placeholder(const PlacedKind& kind, const api::ObjectMeta& of,
                                               api::Pod pod) {
  api::ObjectMeta& meta = pod.metadata;
  meta.name = placeholder_name({kind.word(), of.namespace_.view(), of.name});
  if (meta.namespace_.empty()) meta.namespace_ = of.namespace_.empty() ? Symbol("default") : of.namespace_;
  meta.uid = of.uid;
  meta.resource_version = of.resource_version;
  meta.creation_timestamp = of.creation_timestamp;
  meta.deletion_timestamp = of.deletion_timestamp;
  return std::make_shared<const api::Pod>(std::move(pod));
}

}  // namespace koord::scheduling
