// GroupTrial: pods that are placed together; see group_plugin.hpp.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "koord/scheduling/engine/engine.hpp"
#include "koord/scheduling/plugin/group_plugin.hpp"

namespace koord::scheduling {

/// Who found no place, and why.
struct Engine::RefusedMember {
  QueuedPod* pod;
  PluginMask rejectors;
  Diagnosis diagnosis;
  std::shared_ptr<AttemptDetail> detail;
};

/// What is not committed is rolled back with it. Between two calls pods that have a place are assumed, with
/// what is reserved for them, and still in their queue.
class GroupTrial final : public Placements {
 public:
  /// `leader` is in no queue any more.
  GroupTrial(Engine& engine, QueuedPod& leader, PluginIndex by) : engine_(engine), leader_(leader), by_(by) {}
  ~GroupTrial() override;
  GroupTrial(const GroupTrial&) = delete;
  GroupTrial& operator=(const GroupTrial&) = delete;

  Placed place(const api::Pod& pod) override;
  Placed place_on(const api::Pod& pod, Row row) override;
  NoRoom room(std::span<const api::Pod* const> pods, std::vector<Room>& by_row) override;
  void refuse(const api::Pod& pod, Diagnosis why) override;
  Mark mark() const override { return placed_.size(); }
  void roll_back(Mark to) override;
  std::vector<At> places() const override;
  const PodInfo* find(const api::Pod& pod) const override;
  const void* kind_of(const api::Pod& pod) override;
  const PodAttempt* ask(const api::Pod& pod) override { return ask(pod, true); }
  const PodAttempt* ask_of_nodes(const api::Pod& pod) override { return ask(pod, false); }
  void set_aside(Row row, const PodInfo& pod) override;
  void bring_back(Row row, const PodInfo& pod) override;
  void answer(PostFilterResult result, std::string others) override {
    answer_ = std::move(result);
    told_leader_ = std::move(others);
  }
  bool has(const QueuedPod& pod) const;
  /// The first that found no place because of the nodes, or of who admits pods.
  using Refused = Engine::RefusedMember;
  const std::optional<Refused>& refused() const { return refused_; }
  /// What is done about that; absent: nothing.
  std::optional<PostFilterResult>& answered() { return answer_; }
  const std::string& told_leader() const { return told_leader_; }
  /// Their decisions, in the order in which they were placed.
  void commit(std::vector<Decision>& out);

 private:
  struct Entry {
    QueuedPod* pod;
    Place from;        // where it stands in the queue
    Symbol nominated;  // to this node, before
    Decision decision;
  };
  /// Why it cannot be placed here, whatever the nodes are like; success: it may.
  Status may_place(const QueuedPod* pod) const;
  bool is_kept_out(const QueuedPod& pod) const;
  const PodAttempt* ask(const api::Pod& pod, bool admitted);
  /// kNoRow: wherever it fits best.
  Placed find_place(const api::Pod& pod, Row only);
  Placed refuse(QueuedPod& pod, Diagnosis diagnosis, std::shared_ptr<AttemptDetail> detail);
  /// Pods of one class, which come after `before` others. Anything but a success: the class can be nowhere.
  Status add_room(std::span<QueuedPod* const> before, std::span<QueuedPod* const> alike,
                  std::vector<Room>& by_row);
  void take_back(const Entry& entry);

  Engine& engine_;
  QueuedPod& leader_;
  const PluginIndex by_;
  std::vector<Entry> placed_;
  std::optional<Refused> refused_;
  PluginMask refusing_ = 0;  // who has refused pods on rows that were named
  std::optional<PostFilterResult> answer_;
  std::string told_leader_;
  std::optional<PodAttempt> asked_;
  std::unordered_map<const PodInfo*, Row> aside_;
};

}  // namespace koord::scheduling
