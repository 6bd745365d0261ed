// Explains a reservation: see explain.hpp.
#include <fmt/format.h>

#include <algorithm>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"
#include "koord/scheduling/what_if/explain.hpp"
#include "scheduling/what_if/reservation_plugin.hpp"

namespace koord::scheduling::explain {

namespace {

/// Of the pods that wait and that it is for so many are judged.
constexpr std::size_t kMostWaiting = 20;

/// What a scheduler has said of it, where it says that of pods.
std::shared_ptr<const api::Pod> told(std::shared_ptr<const api::Pod> pod, const api::Reservation& r) {
  const auto said =
      std::ranges::find(r.status.conditions, Symbol("Scheduled"), &api::ReservationCondition::type);
  if (said == r.status.conditions.end()) return pod;
  auto with = std::make_shared<api::Pod>(*pod);
  api::PodCondition& condition = with->status.conditions.emplace_back();
  condition.type = "PodScheduled";
  condition.status = said->status;
  condition.reason = said->reason;
  condition.message = said->message;
  condition.last_transition_time = said->last_transition_time;
  return with;
}

class ExplainingReservation {
 public:
  ExplainingReservation(Engine& engine, const ReservationQuestion& question)
      : engine_(engine),
        question_(question),
        r_(*static_cast<const api::Reservation*>(question.reservation.get())) {
    for (const Profile& profile : engine.profiles())
      if (plugin_ == nullptr) plugin_ = reservation_plugin(profile);
  }

  ExplanationView run() {
    ExplanationView v;
    v.pod = placeholder_name({"reservation", {}, r_.metadata.name});
    v.exists = true;
    v.node = r_.status.node_name.str();
    v.nodes = engine_.nodes().nodes();
    v.pods = static_cast<std::int64_t>(engine_.pods());
    auto said = plugin_ == nullptr ? std::nullopt
                                   : plugin_->describe(kube::kObjectType<api::Reservation>,
                                                       question_.reservation, question_.rest.now);
    if (!said) {
      v.outcome = "unserved";
      v.summary.push_back(
          fmt::format("Reservation {} is nobody's: no profile of this configuration has the plugin "
                      "Reservation. Enable it in --config's profile, or leave --config out.",
                      r_.metadata.name));
      return v;
    }
    judge_waiting(said->view);
    const PlacedKind* const kind = engine_.placed().of(kube::kObjectType<api::Reservation>);
    const std::shared_ptr<const api::Pod> pod =
        said->waits && kind != nullptr ? kind->as_pod(question_.reservation) : nullptr;
    if (pod) {
      Question question = question_.rest;
      question.pod = told(pod, r_);
      question.exists = true;
      v = explain(engine_, question);
    } else {
      const bool placed = !r_.status.node_name.empty() && said->view.phase == "Available";
      const bool over = said->view.phase == "Succeeded" || said->view.phase == "Failed";
      v.outcome = placed ? "placed" : over ? "finished" : "invalid";
      if (question_.rest.defaults)
        v.notes.push_back(
            "the configuration that the scheduler runs with is not known: koord's defaults were taken; "
            "--config names another one");
    }
    v.summary.insert(v.summary.end(), said->summary.begin(), said->summary.end());
    v.reservation.push_back(std::move(said->view));
    return v;
  }

 private:
  const Profile& profile_of(const api::Pod& pod) const {
    const auto& profiles = engine_.profiles();
    const auto it = std::ranges::find_if(
        profiles, [&](const Profile& p) { return pod.spec.scheduler_name == p.scheduler_name; });
    return it != profiles.end() ? *it : profiles.front();
  }

  void judge_waiting(ReservationView& view) {
    std::vector<ReservationOwnerView> waiting;
    for (const std::shared_ptr<const api::Pod>& pod : question_.waiting) {
      if (!plugin_->is_for(question_.reservation, *pod)) continue;
      if (waiting.size() == kMostWaiting || question_.rest.give_up()) {
        ++view.more_owners;
      } else {
        waiting.push_back(judged(pod));
      }
    }
    view.owners.insert(view.owners.begin(), std::make_move_iterator(waiting.begin()),
                       std::make_move_iterator(waiting.end()));
  }

  ReservationOwnerView judged(const std::shared_ptr<const api::Pod>& pod) {
    question_.rest.progress(fmt::format("judging {}", described(*pod)));
    ReservationOwnerView view{.pod = pod_key(*pod), .node = {}, .serves = false, .reasons = {}};
    const Profile& profile = profile_of(*pod);
    const ReservationExplainPlugin* const plugin = reservation_plugin(profile);
    if (plugin == nullptr) {
      view.reasons.push_back(
          fmt::format("the pod's scheduler, {}, knows no reservations", profile.scheduler_name));
      return view;
    }
    ClassState& state = engine_.evaluate(profile, pod);
    state.judge_refused();
    const Diagnosis diagnosis = state.diagnose();
    const std::string& before =
        diagnosis.error.empty() ? diagnosis.prefilter_message : diagnosis.error;  // nodes are looked at
    const PodInfo info = make_pod_info(pod, engine_.context().nodes.resources());
    const PodReservations said = plugin->reservations_for(info, [&](Row row) {
      if (!before.empty()) return std::vector<std::string>{before};
      const VerdictId verdict = state.verdict(row);
      return verdict == kPass ? std::vector<std::string>() : engine_.context().verdicts[verdict].reasons;
    });
    const auto it = std::ranges::find(said.matched, r_.metadata.name, &MatchedReservationView::name);
    if (it == said.matched.end()) {
      view.reasons.insert(view.reasons.end(), said.summary.begin(), said.summary.end());
      return view;
    }
    view.serves = it->serves;
    view.reasons = it->reasons;
    return view;
  }

  Engine& engine_;
  const ReservationQuestion& question_;
  const api::Reservation& r_;
  const ReservationExplainPlugin* plugin_ = nullptr;
};

}  // namespace

ExplanationView explain(Engine& engine, const ReservationQuestion& question) {
  return ExplainingReservation(engine, question).run();
}

}  // namespace koord::scheduling::explain
