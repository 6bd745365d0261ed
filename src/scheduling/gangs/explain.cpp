// A pod and its gang, for people: see explain.hpp.
#include "scheduling/gangs/explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace koord::scheduling::gangs {

namespace {

/// "1 pod", "2 pods"
std::string pods(std::int64_t count) { return fmt::format("{} {}", count, count == 1 ? "pod" : "pods"); }

/// Empty: nothing.
std::string lack(GangBook& book, const std::string& id) {
  const Gang* const gang = book.find(id);
  if (gang == nullptr) return fmt::format("there is no gang {}", id);
  if (!gang->known)
    return fmt::format("there is no PodGroup {}, and no pod says how many of its gang start together", id);
  if (gang->enough) return {};
  return fmt::format("the gang {} starts with {}, and has {}", id, pods(gang->min), gang->children);
}

}  // namespace

AdmitExplainPlugin::Admission explain(GangBook& book, const Member& member) {
  const Gang& own = *member.gang;
  const Group& group = *own.group;
  if (own.is_free())
    return {{fmt::format("Its gang {} has started: it is placed by itself.", own.id)}, false};
  std::vector<std::string> lacks;
  for (const std::string& id : group.gangs)
    if (std::string what = lack(book, id); !what.empty()) lacks.push_back(std::move(what));
  const std::string_view whom = group.gangs.size() > 1 ? "the gangs of its group" : "its gang";
  if (!lacks.empty()) return {{fmt::format("It waits for {}: {}.", whom, fmt::join(lacks, "; "))}, true};
  if (own.min < 2) return {};
  return {{fmt::format("It starts together with {} of the gang {}{}.", pods(own.min - 1), own.id,
                       group.gangs.size() > 1 ? ", and with the other gangs of its group" : "")},
          false};
}

}  // namespace koord::scheduling::gangs
