// Groups: quotas, gangs, reservations and who waits, as the page's JSON.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace koord::api {
struct Pod;
}
namespace koord::figures {
struct ClusterView;
}
namespace koord::kube {
class AnyInformer;
}

namespace koord::view {

/// A part of the document of which nobody knows what there is.
struct Unread {
  std::string_view part;  // quotas, gangs, reservations
  std::string why;
};

/// Why it is not known what there is of a kind ("PodGroups"); empty: it is, or the server does not serve it.
std::string why_unread(const kube::AnyInformer& informer, std::string_view plural);

/// {"view", "unread": {PART: WHY}, "more_waiting", "waiting": [{namespace, name, since, why}]}: of `pods`
/// those that wait, the oldest first, 500 at most.
std::string groups_document(const figures::ClusterView& view,
                            std::span<const std::shared_ptr<const api::Pod>> pods,
                            std::span<const Unread> unread);

}  // namespace koord::view
