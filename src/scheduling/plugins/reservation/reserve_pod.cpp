// Reservations as pods: see reserve_pod.hpp.
#include "scheduling/plugins/reservation/reserve_pod.hpp"

#include <fmt/format.h>

#include <charconv>

#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/koordinator/reservation.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "scheduling/plugins/reservation/rules/facts.hpp"
#include "scheduling/plugins/reservation/rules/status.hpp"

namespace koord::scheduling::reservation {

namespace {

std::int32_t priority_of(const api::Reservation& r) {
  const std::string_view text = api::value_or(r.metadata.labels, api::kSubPriorityLabel);
  std::int32_t priority = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), priority);
  const bool said = error == std::errc() && end == text.data() + text.size();
  return said ? priority : ReservePods::kNoPriority;
}

/// Of all that its containers ask for nothing is left but this.
void ask_for(api::PodSpec& spec, api::ResourceList amounts) {
  spec.overhead.clear();
  spec.resources.reset();
  for (api::Container& c : spec.init_containers) c.resources = {};
  for (api::Container& c : spec.containers) c.resources = {};
  api::Container& all = spec.containers.emplace_back();
  all.name = "__internal_fake_container__";
  all.resources.limits = amounts;
  all.resources.requests = std::move(amounts);
}

class Binding final : public BindWork {
 public:
  explicit Binding(std::shared_ptr<const ReservePods> kind)
      : kind_(kind),
        patch_(bind_by_patch<api::Reservation>(
            std::move(kind), "status",
            [](api::Reservation& r, const Symbol& node, WallTime now) { set_available(r, node, now); })) {}

  Task<Status> run(const Context& context) override {
    const PlacedName name = placed_name(*context.pod);
    const kube::Object known = context.find(kind_->type(), name.ns, name.name);
    if (known && is_over(*static_cast<const api::Reservation*>(known.get())))
      co_return Status{StatusCode::error, std::string(kInactive)};
    Task<Status> patching = patch_->run(context);
    co_return co_await std::move(patching);
  }

 private:
  std::shared_ptr<const ReservePods> kind_;
  std::shared_ptr<BindWork> patch_;
};

}  // namespace

std::optional<api::Pod> ReservePods::placeholder(const api::Reservation& r) const {
  const bool available = is_available(r);
  if (!what_it_lacks(r).empty() || is_over(r) || (!r.status.node_name.empty() && !available))
    return std::nullopt;
  auto read = pod_template(r);
  if (!read || !*read) return std::nullopt;
  std::optional<PodTemplate>& of = *read;
  api::Pod pod;
  pod.metadata.namespace_ = of->metadata.namespace_;
  pod.metadata.labels = std::move(of->metadata.labels);
  pod.metadata.annotations = std::move(of->metadata.annotations);
  // What the pod had from which somebody took the template is not this one's.
  pod.metadata.annotations.erase(api::ResourceStatus::kAnnotation);
  pod.metadata.owner_references = std::move(of->metadata.owner_references);
  for (const auto& [key, value] : r.metadata.labels) pod.metadata.labels[key] = value;
  for (const auto& [key, value] : r.metadata.annotations) pod.metadata.annotations[key] = value;
  pod.metadata.annotations[api::kReservePod] = "true";
  pod.metadata.annotations[api::kReservePodName] = r.metadata.name;
  pod.spec = std::move(of->spec);
  if (!pod.spec.node_name.empty()) pod.metadata.annotations[api::kReservePodNode] = pod.spec.node_name;
  if (r.spec.pre_allocation) pod.metadata.annotations[api::kReservePodPreAllocates] = "true";
  if (!r.spec.allocate_policy.empty())
    pod.metadata.annotations[api::kReservePodPolicy] = r.spec.allocate_policy;
  pod.spec.node_name = r.status.node_name;
  if (!pod.spec.priority) pod.spec.priority = priority_of(r);
  if (pod.spec.scheduler_name.empty()) pod.spec.scheduler_name = "default-scheduler";
  if (available)
    if (api::ResourceList asked = api::pod_requests(pod); asked != r.status.allocatable) {
      for (const auto& [name, amount] : r.status.allocatable) asked[name] = amount;
      ask_for(pod.spec, std::move(asked));
    }
  return pod;
}

std::optional<ObjectPatch> ReservePods::failure(const api::Reservation& now,
                                                const AttemptFailure& failure) const {
  return edited(now, "status",
                [&](api::Reservation& r) { set_unschedulable(r, failure.message, failure.now); });
}

Eviction ReservePods::eviction(const api::Reservation& now, const Preemptor& by) const {
  return {edited(now, "status",
                 [&](api::Reservation& r) {
                   set_preempted(
                       r,
                       fmt::format("{}: preempting to accommodate a higher priority {}", by.profile, by.word),
                       by.now);
                 }),
          false};
}

std::shared_ptr<BindWork> bind(std::shared_ptr<const ReservePods> kind) {
  return std::make_shared<Binding>(std::move(kind));
}

bool is_reserve_pod(const api::Pod& pod) {
  return is_placeholder(pod) && placed_name(pod).word == ReservePods::kWord;
}

}  // namespace koord::scheduling::reservation
