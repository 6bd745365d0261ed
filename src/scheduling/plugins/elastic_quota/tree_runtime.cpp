// QuotaTree: what each quota may use now; see tree.hpp.
#include <algorithm>

#include "scheduling/plugins/elastic_quota/tree.hpp"

namespace koord::scheduling::elastic_quota {

void QuotaTree::set_total(const Amounts& total) {
  total_ = total;
  std::ranges::fill(totals_, std::nullopt);
  for (const Amount& amount : total) {
    if (amount.resource >= totals_.size()) totals_.resize(amount.resource + 1);
    totals_[amount.resource] = amount.amount;
  }
}

std::int64_t QuotaTree::free_total(ResourceId resource) const {
  std::int64_t free = resource < totals_.size() ? totals_[resource].value_or(0) : 0;
  for (const QuotaId id : {system_, default_})
    if (id != kNoQuota) free -= figures(id, resource).used;
  return free;
}

QuotaTree::Column* QuotaTree::column_of(QuotaId id, ResourceId resource) {
  auto& columns = quotas_[id].level.columns;
  return resource < columns.size() && columns[resource] ? &*columns[resource] : nullptr;
}

/// What the quota says of the resource, to those that it shares with.
void QuotaTree::write_column(QuotaId id, ResourceId resource) {
  const Quota& quota = quotas_[id];
  Column* const column = quota.parent != kNoQuota ? column_of(quota.parent, resource) : nullptr;
  if (column == nullptr) return;
  const QuotaFigures& said = figures(id, resource);
  column->shares.request[quota.slot] = said.limited;
  column->shares.guaranteed[quota.slot] = said.guaranteed;
  column->shares.weight[quota.slot] = said.weight;
  column->shares.set_min(quota.slot, is_built_in(id) ? 0 : said.min_or_zero());
  column->stale = true;
}

void QuotaTree::rank(Level& level) {
  if (level.ranked) return;
  std::vector<std::uint32_t> slots(level.children.size());
  for (std::uint32_t i = 0; i < slots.size(); ++i) slots[i] = i;
  std::ranges::sort(
      slots, {}, [&](std::uint32_t slot) -> std::string_view { return quotas_[level.children[slot]].name; });
  level.ranks.resize(slots.size());
  for (std::uint32_t i = 0; i < slots.size(); ++i) level.ranks[slots[i]] = i;
  level.ranked = true;
}

/// The column of the level under the quota, as of now; nullptr: the quota does not divide the resource.
QuotaTree::Column* QuotaTree::divided(QuotaId id, ResourceId resource) {
  path_.clear();
  for (QuotaId up = id; up != kNoQuota; up = quotas_[up].parent) path_.push_back(up);
  // What the quota at the top has. Without a way to the root it is sure of its min; what is not there has
  // nothing.
  const QuotaId top = path_.back();
  std::int64_t total = 0;
  bool scaled = false;
  if (top == kRoot) {
    total = free_total(resource);
    const bool known =
        (resource < totals_.size() && totals_[resource]) ||
        std::ranges::any_of(std::initializer_list<QuotaId>{system_, default_}, [&](QuotaId each) {
          return each != kNoQuota && figures(each, resource).used != 0;
        });
    scaled = options_.scale_min && known;
  } else if (quotas_[top].exists) {
    total = unshared(top, resource);
    scaled = options_.scale_min;
  }
  Column* column = nullptr;
  for (std::size_t i = path_.size(); i-- > 0;) {
    column = column_of(path_[i], resource);
    if (column == nullptr) {
      total = 0;
      scaled = false;
      continue;
    }
    if (column->stale || column->total != total || column->scaled != scaled) {
      Level& level = quotas_[path_[i]].level;
      rank(level);
      column->shares.divide(total, scaled, level.lends, level.ranks);
      column->total = total;
      column->scaled = scaled;
      column->stale = false;
      ++divisions_;
    }
    if (i == 0) break;
    total = column->shares.runtime[quotas_[path_[i - 1]].slot];
    scaled = options_.scale_min;
  }
  return column;
}

/// What a quota has that shares with nobody.
std::int64_t QuotaTree::unshared(QuotaId id, ResourceId resource) const {
  const QuotaFigures& said = figures(id, resource);
  const std::int64_t sure = std::max(said.min_or_zero(), said.guaranteed);
  return quotas_[id].lends ? std::min(said.limited, sure) : sure;
}

std::optional<std::int64_t> QuotaTree::runtime(QuotaId id, ResourceId resource) {
  if (id == kRoot) return free_total(resource);
  const QuotaFigures& said = figures(id, resource);
  if (is_built_in(id)) return said.in_max() ? std::optional(said.max) : std::nullopt;
  const Quota& quota = quotas_[id];
  if (quota.parent == kNoQuota) return said.in_max() ? std::optional(unshared(id, resource)) : std::nullopt;
  const Column* const column = divided(quota.parent, resource);
  if (column == nullptr) return std::nullopt;
  return column->shares.runtime[quota.slot];
}

std::int64_t QuotaTree::scaled_min(QuotaId id, ResourceId resource) {
  const Quota& quota = quotas_[id];
  const Column* const column = quota.parent != kNoQuota ? divided(quota.parent, resource) : nullptr;
  if (column == nullptr || !column->scaled) return figures(id, resource).min_or_zero();
  return column->shares.scaled(quota.slot, column->total);
}

}  // namespace koord::scheduling::elastic_quota
