// A pod and its quota, for people: see explain.hpp.
#include "scheduling/plugins/elastic_quota/explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "koord/api/koordinator/quota.hpp"

namespace koord::scheduling::elastic_quota {

namespace {

/// So many of those that have borrowed are named.
constexpr std::size_t kBorrowers = 3;

/// "a/b/c", from below the root down.
std::string path(const QuotaTree& tree, QuotaId quota) {
  std::string text = tree.name(quota);
  for (QuotaId up = tree.parent(quota); up != kNoQuota && up != QuotaTree::kRoot; up = tree.parent(up))
    text = fmt::format("{}/{}", tree.name(up), text);
  return text;
}

struct Borrower {
  QuotaId quota;
  std::int64_t amount;  // beyond its min
};

/// Those of the same parent that use more of the resource than they are sure of, most first.
std::vector<Borrower> borrowers(QuotaTree& tree, QuotaId quota, ResourceId resource) {
  std::vector<Borrower> found;
  tree.each([&](QuotaId each) {
    if (each == quota || each == QuotaTree::kRoot || tree.is_built_in(each) ||
        tree.parent(each) != tree.parent(quota))
      return;
    const std::int64_t beyond = tree.figures(each, resource).used - tree.scaled_min(each, resource);
    if (beyond > 0) found.push_back({each, beyond});
  });
  std::ranges::sort(found, [&](const Borrower& a, const Borrower& b) {
    return a.amount != b.amount ? a.amount > b.amount : tree.name(a.quota) < tree.name(b.quota);
  });
  return found;
}

class Words {
 public:
  Words(const QuotaBook& book, QuotaTree& tree, CheckRules rules) : book_(book), tree_(tree), rules_(rules) {}

  /// "cpu 40 of 40 used"
  std::string use(QuotaId quota, ResourceId resource, bool of_min) const {
    const QuotaFigures& is = tree_.figures(quota, resource);
    const std::int64_t used = of_min ? is.non_preemptible_used : is.used;
    const auto most =
        of_min ? std::optional(is.min_or_zero()) : use_limit(tree_, quota, resource, rules_.by_runtime);
    if (!most) return fmt::format("{} {} used", book_.resource_name(resource), amount(resource, used));
    return fmt::format("{} {} of {} used", book_.resource_name(resource), amount(resource, used),
                       amount(resource, *most));
  }
  std::string borrowed(QuotaId quota, ResourceId resource) const {
    const std::vector<Borrower> all = borrowers(tree_, quota, resource);
    std::vector<std::string> named;
    for (std::size_t i = 0; i < std::min(all.size(), kBorrowers); ++i)
      named.push_back(fmt::format("{} ({} {} beyond its min)", path(tree_, all[i].quota),
                                  book_.resource_name(resource), amount(resource, all[i].amount)));
    if (all.size() > kBorrowers) named.push_back(fmt::format("{} more", all.size() - kBorrowers));
    return fmt::format("{}", fmt::join(named, ", "));
  }

 private:
  std::string amount(ResourceId resource, std::int64_t amount) const {
    return book_.quantity(resource, amount).to_string();
  }

  const QuotaBook& book_;
  QuotaTree& tree_;
  const CheckRules rules_;
};

}  // namespace

std::vector<std::string> explain_quota(const QuotaBook& book, QuotaBook::Place place,
                                       const std::optional<Refusal>& refusal, CheckRules rules) {
  if (place.tree == nullptr) return {};
  QuotaTree& tree = *place.tree;
  const Words words(book, tree, rules);
  std::vector<std::string> uses;
  if (!refusal) {
    if (tree.is_built_in(place.quota)) return {};
    for (ResourceId r = 0; r < tree.resources(); ++r)
      if (tree.figures(place.quota, r).in_max()) uses.push_back(words.use(place.quota, r, false));
    return {
        fmt::format("It is counted in the quota {}: {}.", path(tree, place.quota), fmt::join(uses, ", "))};
  }
  const bool of_min = refusal->by == Refusal::By::non_preemptible;
  std::vector<std::string> borrowed;
  for (const ResourceId r : refusal->exceeded) {
    uses.push_back(words.use(refusal->quota, r, of_min));
    if (of_min) continue;
    if (std::string who = words.borrowed(refusal->quota, r); !who.empty()) borrowed.push_back(std::move(who));
  }
  std::string sentence = fmt::format("It waits for the quota {}{}: {}", path(tree, refusal->quota),
                                     of_min ? ", of whose min pods that cannot be preempted share alone" : "",
                                     fmt::join(uses, ", "));
  if (!borrowed.empty()) sentence += fmt::format("; borrowers: {}", fmt::join(borrowed, ", "));
  std::vector<std::string> all{sentence + "."};
  if (refusal->quota != place.quota)
    all.push_back(fmt::format("Its own quota is {}.", path(tree, place.quota)));
  return all;
}

}  // namespace koord::scheduling::elastic_quota
