// KoordinatorBook: gangs as labels, annotations and PodGroups of Koordinator have them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "koord/api/types/sigs_scheduling_v1alpha1/pod_group.hpp"
#include "scheduling/gangs/book.hpp"
#include "scheduling/gangs/doors.hpp"
#include "scheduling/plugins/coscheduling/args.hpp"

namespace koord::scheduling::coscheduling {

using gangs::Gang;
using gangs::GangBook;
using gangs::Group;
using gangs::Member;

/// A gang is what its PodGroup says, or its first pod. The arguments of the first instance count. Messages
/// are Koordinator's.
class KoordinatorBook final : public GangBook {
 public:
  KoordinatorBook(const PluginContext& context, const CoschedulingArgs& args);

  std::optional<Symbol> gang_of(const api::Pod& pod) const override;
  std::string lack(const Group& group, const Member& member) const override;
  std::string rejection(const Group& group, const api::Pod& pod, std::string_view why,
                        std::size_t placed) const override;
  std::string given_up(const Gang& gang, const api::Pod& pod) const override;

  /// One of the two is there.
  void pod_group_changed(const api::PodGroup* before, const api::PodGroup* now);

 private:
  void read_terms(Gang& gang, const api::Pod& pod) override;
  void take(Gang& gang, const api::GangTerms& terms, const api::ObjectMeta& object, std::string_view kind);

  gangs::Doors& doors_;
  const nanoseconds default_wait_;
  const api::GangMatchPolicy default_policy_;
};

}  // namespace koord::scheduling::coscheduling
