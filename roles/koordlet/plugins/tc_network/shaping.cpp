// The steps and their order: see shaping.hpp.
#include "plugins/tc_network/shaping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace koord::koordlet::tc_network {
namespace {

using host::HtbClass;
using host::RootQdisc;
using host::TcHandle;

constexpr std::string_view kHtb = "htb";
constexpr TcHandle kMinor = 0xFFFF;

bool is_ours(const RootQdisc& root) { return root.handle == kQdisc; }

const HtbClass* find(const std::vector<HtbClass>& classes, TcHandle handle) {
  const auto found = std::ranges::find(classes, handle, &HtbClass::handle);
  return found == classes.end() ? nullptr : &*found;
}

/// Whether classes of the tiers are where they are not to be: then there is no changing them one by one.
bool is_crooked(const Wanted& wanted, const Observed& observed) {
  return std::ranges::any_of(observed.classes, [&wanted](const HtbClass& there) {
    const HtbClass* const shall = find(wanted.classes, there.handle);
    return (there.handle & kMinor) < kFirstPodMinor && shall != nullptr && shall->parent != there.parent;
  });
}

class Maker {
 public:
  Maker(const Wanted& wanted, const Observed& observed, Steps& to)
      : wanted_(wanted), observed_(observed), to_(to) {}

  void make() {
    // A route that is made anew is gone for a moment: what stands meanwhile is what is wanted.
    if (wanted_.wanted && observed_.link.index == 0 && std::ranges::any_of(observed_.roots, is_ours)) {
      to_.refused = "there is no default route; what is shaped stays so until there is one";
      return;
    }
    const RootQdisc* here = nullptr;
    for (const RootQdisc& root : observed_.roots) {
      if (root.link == observed_.link.index) here = &root;
      if (is_ours(root) && (root.link != observed_.link.index || !wanted_.wanted)) remove_root(root.link);
    }
    if (!wanted_.wanted) return take_back();
    if (observed_.link.index == 0) return refuse("there is no default route, so no device to shape");
    if (here != nullptr && !is_ours(*here))
      return refuse(fmt::format(
          "{0}: its root qdisc {1} {2} is somebody else's and stays; to have koord shape what is sent, "
          "remove it (tc qdisc del dev {0} root)",
          observed_.link.name, here->kind, host::tc_text(here->handle)));
    const bool fresh = here == nullptr || here->kind != kHtb || here->default_minor != kDefaultMinor ||
                       is_crooked(wanted_, observed_);
    if (fresh && here != nullptr) remove_root(here->link);
    if (fresh) add({.kind = StepKind::add_root, .link = observed_.link});
    static const std::vector<HtbClass> kNone;
    const std::vector<HtbClass>& there = fresh ? kNone : observed_.classes;
    put_classes(there);
    put_groups();
    put_filter(fresh);
    put_marks();
    forget_groups();
    remove_classes(there);
  }

 private:
  void add(Step step) { to_.steps.push_back(std::move(step)); }
  void remove_root(int link) {
    host::NetworkLink which{link, fmt::format("device {}", link)};
    if (link == observed_.link.index) which = observed_.link;
    add({.kind = StepKind::remove_root, .link = std::move(which)});
  }
  void refuse(std::string why) {
    to_.refused = std::move(why);
    take_back();
  }
  void take_back() {
    if (observed_.marks.exists) add({.kind = StepKind::remove_marks});
    for (const auto& [group, of_class] : observed_.groups) forget(group);
  }
  void forget(const std::string& group) { add({.kind = StepKind::forget_group, .group = group}); }

  void put_classes(const std::vector<HtbClass>& there) {
    for (const HtbClass& shall : wanted_.classes) {
      const HtbClass* const is = find(there, shall.handle);
      if (is != nullptr && *is == shall) continue;
      if (is != nullptr && is->parent != shall.parent)
        add({.kind = StepKind::remove_class, .link = observed_.link, .what = *is});
      add({.kind = StepKind::put_class, .link = observed_.link, .what = shall});
    }
  }
  /// What is in a class before it.
  void remove_classes(const std::vector<HtbClass>& there) {
    std::vector<HtbClass> gone;
    for (const HtbClass& is : there)
      if (find(wanted_.classes, is.handle) == nullptr) gone.push_back(is);
    std::ranges::sort(gone, std::greater(), &HtbClass::handle);
    for (const HtbClass& is : gone) add({.kind = StepKind::remove_class, .link = observed_.link, .what = is});
  }

  void put_groups() {
    if (observed_.program == 0) return;
    for (const auto& [group, of_class] : wanted_.groups) {
      const auto is = observed_.groups.find(group);
      if (observed_.absent.contains(group) || (is != observed_.groups.end() && is->second == of_class))
        continue;
      add({.kind = StepKind::put_group, .group = group, .of_class = of_class});
    }
  }
  void forget_groups() {
    for (const auto& [group, of_class] : observed_.groups)
      if (!wanted_.groups.contains(group)) forget(group);
  }

  void put_filter(bool fresh) {
    if (observed_.program == 0) return;
    const host::TcFilter shall{kFilterPriority, kFilterHandle, "bpf", observed_.program};
    if (fresh || std::ranges::find(observed_.filters, shall) == observed_.filters.end())
      add({.kind = StepKind::put_filter, .link = observed_.link});
  }

  void put_marks() {
    if (!observed_.can_mark) return;
    if (!observed_.marks.whole)
      add({.kind = StepKind::make_marks, .to = wanted_.addresses});
    else if (observed_.marks.classes != wanted_.addresses)
      add({.kind = StepKind::change_marks, .from = observed_.marks.classes, .to = wanted_.addresses});
  }

  const Wanted& wanted_;
  const Observed& observed_;
  Steps& to_;
};

}  // namespace

std::string to_string(const Step& step) {
  const std::string& link = step.link.name;
  switch (step.kind) {
    case StepKind::remove_root: return fmt::format("{}: no qdisc {}", link, host::tc_text(kQdisc));
    case StepKind::add_root: return fmt::format("{}: qdisc htb {}", link, host::tc_text(kQdisc));
    case StepKind::put_class:
      return fmt::format("{}: class {} in {} sends {} to {} bytes a second, priority {}", link,
                         host::tc_text(step.what.handle),
                         step.what.parent == host::kTcRoot ? "the whole" : host::tc_text(step.what.parent),
                         step.what.rate, step.what.ceil, step.what.priority);
    case StepKind::remove_class: return fmt::format("{}: no class {}", link, host::tc_text(step.what.handle));
    case StepKind::put_group: return fmt::format("{}: class {}", step.group, host::tc_text(step.of_class));
    case StepKind::forget_group: return fmt::format("{}: no class", step.group);
    case StepKind::put_filter: return fmt::format("{}: packets are told apart by group", link);
    case StepKind::make_marks: return fmt::format("table {}: {} addresses", kTable, step.to.size());
    case StepKind::change_marks:
      return fmt::format("table {}: {} addresses, {} before", kTable, step.to.size(), step.from.size());
    case StepKind::remove_marks: return fmt::format("no table {}", kTable);
  }
  return {};
}

Steps steps_to(const Wanted& wanted, const Observed& observed) {
  Steps steps;
  Maker(wanted, observed, steps).make();
  return steps;
}

}  // namespace koord::koordlet::tc_network
