// RequiredState: what required affinity and anti-affinity say of the rows for one class of pods.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "koord/scheduling/plugin/plugin_base.hpp"
#include "koord/scheduling/plugin/verdict.hpp"
#include "scheduling/plugins/inter_pod_affinity/terms.hpp"

namespace koord::scheduling::inter_pod_affinity {

/// Keeps a few bits for each domain of the keys that matter, and repairs them from the logs of the counts: a
/// cycle costs the domains that have got their first or lost their last pod, and one look at each row.
class RequiredState final : public PodState {
 public:
  /// What is wrong with a row: these, put together.
  using Flags = std::uint8_t;
  static constexpr Flags kNobodyThere = 1;  // of those whom the pod wants to be near
  static constexpr Flags kNoLabel = 2;      // of a key of its affinity
  static constexpr Flags kDisliked = 4;     // somebody is there whom it wants to keep away from
  static constexpr Flags kRepelled = 8;     // somebody is there who wants to keep away from it
  static constexpr std::size_t kFlags = 16;

  /// `terms`: of all pods of the class; nullptr: they have none.
  RequiredState(TermTable& table, std::shared_ptr<const AffinityTerms> terms);

  /// For a pod with these labels and these counts. False: no row has a flag.
  bool update(const LabelSet& pod);
  /// Nobody anywhere is such as the pod wants to be near, but the pod itself is: kNobodyThere is no reason.
  bool first_of_its_kind() const {
    return wants_itself_ && near_ == 0 && terms_ && !terms_->affinity().empty();
  }
  /// By the flags that a row has.
  using Verdicts = std::array<VerdictId, kFlags>;
  /// out[i] = the verdict on rows[i]; the rows ascend and hold nodes.
  void judge(std::span<const Row> rows, const Verdicts& verdicts, const NodeTable& nodes,
             std::span<VerdictId> out) const;
  /// Until the next update() as if `other` counted on the row (`by` 1) or did not (-1).
  void imagine(const LabelSet& pod, const PodInfo& other, Row row, std::int64_t by);

  std::size_t bytes() const override;

 private:
  struct Key {
    TopologyRef key;
    bool wanted;               // of the pod's affinity
    std::vector<Flags> flags;  // by domain
    // Of kDisliked and kRepelled, where several Counted are behind the flag: how many, by domain.
    std::array<std::vector<std::uint32_t>, 2> several;
    std::array<std::uint32_t, 2> sources{};
    Flags unmet() const { return wanted ? kNobodyThere : 0; }
  };
  struct Source {
    CountedRef counted;
    Flags flag;
    std::uint32_t key;
    std::uint64_t read = 0;  // of its log
  };
  struct Imagined {
    const Source* source;  // of own_ or repelling_; two of them may share their counts
    DomainId domain;
    std::int64_t by;
  };

  std::uint32_t key_of(const Counted& counted);
  void find_repelling(const LabelSet& pod);
  void add_repelling(const CountedRef& counted);
  void rebuild();
  bool catch_up(Source& source);
  void apply(const Source& source, DomainId domain, std::int32_t crossing);
  void imagine(const Source& source, Row row, std::int64_t by);

  TermTable& table_;
  std::shared_ptr<const AffinityTerms> terms_;
  std::vector<Key> keys_;  // those of the pod's own terms first
  std::size_t own_keys_ = 0;
  std::unordered_map<const TopologyKey*, std::uint32_t> key_index_;
  std::vector<Source> own_, repelling_;  // the second by serial
  std::uint64_t pod_version_ = 0, table_version_ = 0;
  std::uint32_t near_ = 0;  // domains with somebody whom the pod wants to be near
  bool wants_itself_ = false;
  bool built_ = false;
  std::vector<Imagined> imagined_;
  mutable std::vector<const Key*> judged_;  // by the present call
};

/// Whether the selector selects pods with these labels.
bool selects(const PodSelector& selector, const LabelSet& pod);

}  // namespace koord::scheduling::inter_pod_affinity
