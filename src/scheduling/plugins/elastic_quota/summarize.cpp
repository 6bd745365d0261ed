// What is known of a quota: see summarize.hpp.
#include "scheduling/plugins/elastic_quota/summarize.hpp"

#include <functional>

namespace koord::scheduling::elastic_quota {

namespace {

/// The root and the built-in ones have what their max says, and no more is told of it.
bool is_given(QuotaBook::Place place) {
  return place.quota != QuotaTree::kRoot && !place.tree->is_built_in(place.quota);
}

class Hash {
 public:
  Hash& add(std::uint64_t value) {
    // splitmix64's, of the sum so far.
    state_ += value + 0x9e3779b97f4a7c15U;
    state_ = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9U;
    state_ = (state_ ^ (state_ >> 27)) * 0x94d049bb133111ebU;
    state_ ^= state_ >> 31;
    return *this;
  }
  Hash& add(std::int64_t value) { return add(static_cast<std::uint64_t>(value)); }
  Hash& add(std::string_view text) { return add(std::uint64_t{std::hash<std::string_view>()(text)}); }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace

QuotaSummary summarize(const QuotaBook& book, std::string_view tree_id, QuotaBook::Place place) {
  QuotaTree& tree = *place.tree;
  const QuotaId id = place.quota;
  const bool is_root = id == QuotaTree::kRoot;
  QuotaSummary all;
  all.name = tree.name(id);
  all.parent = tree.parent_name(id);
  all.tree = tree_id;
  all.is_parent = is_root || tree.is_parent(id);
  all.lends = !is_root && tree.lends(id);
  for (ResourceId r = 0; r < tree.resources(); ++r) {
    const QuotaFigures& is = tree.figures(id, r);
    const Symbol name(book.resource_name(r));
    const auto put = [&](api::ResourceList& list, bool named, std::int64_t amount) {
      if (named || amount != 0) list[name] = book.quantity(r, amount);
    };
    const bool has_min = is.min != QuotaFigures::kNone;
    put(all.max, is.in_max(), is.in_max() ? is.max : 0);
    put(all.min, has_min, is.min_or_zero());
    put(all.weight, false, is.weight);
    put(all.request, is.asked || (!is_root && !all.lends && has_min), is.request);
    put(all.used, is.taken, is.used);
    put(all.non_preemptible_request, is.kept_asked, is.non_preemptible_request);
    put(all.non_preemptible_used, is.kept_taken, is.non_preemptible_used);
    put(all.self_request, false, is.self_request);
    put(all.self_used, false, is.self_used);
    put(all.self_non_preemptible_request, false, is.self_non_preemptible_request);
    put(all.self_non_preemptible_used, false, is.self_non_preemptible_used);
    put(all.allocated, false, is.allocated);
    put(all.guaranteed, false, is.guaranteed);
    if (!is_root) put(all.child_request, is.asked, is.child_request);
    if (!is_given(place)) continue;
    put(all.scaled_min, has_min, tree.scaled_min(id, r));
    if (const auto runtime = tree.runtime(id, r)) put(all.runtime, true, *runtime);
  }
  return all;
}

std::uint64_t fingerprint(std::string_view tree_id, QuotaBook::Place place) {
  QuotaTree& tree = *place.tree;
  const QuotaId id = place.quota;
  Hash all;
  all.add(tree_id).add(tree.parent_name(id));
  all.add(std::uint64_t{tree.is_parent(id)} * 2 + (tree.lends(id) ? 1 : 0));
  for (ResourceId r = 0; r < tree.resources(); ++r) {
    const QuotaFigures& is = tree.figures(id, r);
    for (const std::int64_t each :
         {is.max, is.min, is.weight, is.self_request, is.self_used, is.self_non_preemptible_request,
          is.self_non_preemptible_used, is.child_request, is.used, is.non_preemptible_request,
          is.non_preemptible_used, is.request, is.allocated, is.guaranteed})
      all.add(each);
    all.add(std::uint64_t{is.asked} * 8 + (is.taken ? 4U : 0U) + (is.kept_asked ? 2U : 0U) +
            (is.kept_taken ? 1U : 0U));
    if (!is_given(place)) continue;
    const auto runtime = tree.runtime(id, r);
    all.add(runtime ? *runtime : QuotaFigures::kNone).add(tree.scaled_min(id, r));
  }
  return all.value();
}

}  // namespace koord::scheduling::elastic_quota
