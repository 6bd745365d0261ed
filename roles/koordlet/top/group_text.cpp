// Quotas, gangs and reservations as text: see cluster_text.hpp and group_text.hpp.
#include "top/group_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "top/cluster_text.hpp"

namespace koord::koordlet {

namespace {

using figures::ClusterView;
using figures::GangRow;
using figures::QuotaRow;
using figures::ReservationRow;
using runtime::Colour;

/// What the columns behind a quota's, gang's, reservation's name take.
constexpr std::size_t kBehindQuota = 62, kBehindGang = 46, kBehindReservation = 53;
/// Of groups that are not there so many are named.
constexpr std::size_t kMissingNamed = 3;

template <class Rows>
std::size_t longest_name(const Rows& rows, std::size_t least) {
  for (const auto& row : rows) least = std::max(least, row.name.size());
  return least;
}

std::string why_line(const Page& page, const std::string& why) {
  return fmt::format("    {}", page.wide ? why : figures::reason_first(why));
}

}  // namespace

void add_missing(Lines& out, const ClusterView& view) {
  if (view.missing.empty()) return;
  std::string names;
  for (std::size_t i = 0; i < std::min(kMissingNamed, view.missing.size()); ++i) {
    const figures::MissingRow& row = view.missing[i];
    names += fmt::format("{}{} {} ({})", i == 0 ? "" : ", ", row.kind, row.name, plural(row.pods, "pod"));
  }
  if (view.missing.size() > kMissingNamed)
    names += fmt::format(" and {} more", view.missing.size() - kMissingNamed);
  out.add(fmt::format("not there, but named by pods: {}", names), Colour::bad);
}

void add_quotas(Lines& out, const ClusterView& view, std::size_t most) {
  if (view.quotas.empty()) return;
  const std::size_t name_width = out.page().name_width(longest_name(view.quotas, 11), kBehindQuota);
  out.blank();
  out.head(fmt::format("{:<{}} {:>6} {:>6} {:>7} {:>6} {:>7} {:>16} {:>6}", "QUOTA (CPU)", name_width, "MIN",
                       "USED", "MAY USE", "LENT", "BORROWS", "MEMORY/MAY USE", "WAIT"));
  for (std::size_t i = 0; i < std::min(most, view.quotas.size()); ++i) {
    const QuotaRow& q = view.quotas[i];
    out.add(fmt::format("{:<{}} {:>6} {:>6} {:>7} {:>6} {:>7} {:>16} {:>6}", clean(q.name, name_width),
                        name_width, one_decimal(q.min.cpu_cores), one_decimal(q.used.cpu_cores),
                        q.may_use ? one_decimal(q.may_use->cpu_cores) : std::string(kNone),
                        one_decimal(q.lent_cpu_cores), one_decimal(q.borrowed_cpu_cores),
                        fmt::format("{}/{}", bytes(q.used.memory_bytes),
                                    q.may_use ? bytes(q.may_use->memory_bytes) : std::string(kNone)),
                        q.waiting),
            q.waiting > 0 ? Colour::warning : Colour::none);
  }
  if (view.quotas.size() > most) out.add(fmt::format("... and {} more quotas", view.quotas.size() - most));
}

std::string quotas_text(const ClusterView& view, const Page& page) {
  Lines out(page);
  out.add(fmt::format("{}, {} waiting for them",
                      plural(static_cast<std::int64_t>(view.quotas.size()), "quota"), [&] {
                        std::int64_t sum = 0;
                        for (const QuotaRow& q : view.quotas) sum += q.waiting;
                        return plural(sum, "pod");
                      }()));
  add_missing(out, view);
  for (const std::string& note : view.notes) out.add(fmt::format("Note: {}", note), Colour::warning);
  add_quotas(out, view, view.quotas.size());
  return out.take();
}

std::string gangs_text(const ClusterView& view, const Page& page) {
  Lines out(page);
  out.add(plural(static_cast<std::int64_t>(view.gangs.size()), "gang"));
  for (const std::string& note : view.notes) out.add(fmt::format("Note: {}", note), Colour::warning);
  if (view.gangs.empty()) return out.take();
  const std::size_t name_width = page.name_width(longest_name(view.gangs, 4), kBehindGang);
  out.blank();
  out.head(fmt::format("{:<{}} {:>5} {:>5} {:>6} {:>5} {:>5}  {}", "GANG", name_width, "MIN", "PODS",
                       "PLACED", "WAIT", "SINCE", "STATE"));
  for (const GangRow& gang : view.gangs) {
    out.add(fmt::format("{:<{}} {:>5} {:>5} {:>6} {:>5} {:>5}  {}", clean(gang.name, name_width), name_width,
                        gang.min ? std::to_string(*gang.min) : std::string(kNone), gang.pods, gang.placed,
                        gang.waiting,
                        gang.since ? figures::age(view.time.at - gang.since->at) : std::string(kNone),
                        gang.state),
            gang.waiting > 0 ? Colour::warning : Colour::none);
    if (gang.waiting > 0) out.add(why_line(page, gang.why), Colour::faint);
  }
  return out.take();
}

std::string reservations_text(const ClusterView& view, const Page& page) {
  Lines out(page);
  out.add(fmt::format("{}, {} waiting for a node",
                      plural(static_cast<std::int64_t>(view.reservations.size()), "reservation"),
                      view.waiting_reservations));
  for (const std::string& note : view.notes) out.add(fmt::format("Note: {}", note), Colour::warning);
  if (view.reservations.empty()) return out.take();
  std::size_t longest_node = 4;
  for (const ReservationRow& row : view.reservations) longest_node = std::max(longest_node, row.node.size());
  const std::size_t both = page.columns() - kBehindReservation;
  const std::size_t node_width = std::min(longest_node, both / 2);
  const std::size_t name_width =
      page.name_width(longest_name(view.reservations, 11), kBehindReservation + node_width + 1);
  out.blank();
  out.head(fmt::format("{:<{}} {:<9} {:<{}} {:>11} {:>12} {:>5} {:>5}", "RESERVATION", name_width, "PHASE",
                       "NODE", node_width, "CPU USED/OF", "MEMORY", "PODS", "AGE"));
  for (const ReservationRow& row : view.reservations) {
    out.add(
        fmt::format("{:<{}} {:<9} {:<{}} {:>11} {:>12} {:>5} {:>5}", clean(row.name, name_width), name_width,
                    clean(row.phase, 9), clean(row.node.empty() ? kNone : row.node, node_width), node_width,
                    fmt::format("{:.1f}/{:.1f}", row.used.cpu_cores, row.reserved.cpu_cores),
                    fmt::format("{}/{}", bytes(row.used.memory_bytes), bytes(row.reserved.memory_bytes)),
                    row.owners, figures::age(view.time.at - row.created.at)),
        row.node.empty() ? Colour::warning : Colour::none);
    if (!row.why.empty()) out.add(why_line(page, row.why), Colour::faint);
  }
  return out.take();
}

}  // namespace koord::koordlet
