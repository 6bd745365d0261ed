// The listings: a table of them, one driver.
#include "top/listings.hpp"

#include <fmt/format.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <ostream>

#include "koord/api/schema/codec.hpp"
#include "koord/async/system_clock.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/suggest.hpp"
#include "koord/runtime/command_cluster.hpp"
#include "koord/runtime/command_flags.hpp"
#include "koord/runtime/command_output.hpp"
#include "top/cluster_reader.hpp"
#include "top/cluster_text.hpp"

namespace koord::koordlet {
namespace {

using figures::ClusterView;
using runtime::Flag;
using runtime::FlagType;
using runtime::kFailed;
using runtime::kOk;
using runtime::kUsage;
using runtime::Streams;

constexpr std::array kOwnFlags = {
    Flag{"output", FlagType::text, "text", runtime::kOutputForms, 'o'},
    Flag{"namespace", FlagType::text, "", "Of gangs, and of the pods that are counted; empty: all of them.",
         'n'},
    Flag{"sort", FlagType::text, "name",
         "Nodes by name, cpu (share used), batch (CPU lent) or asked (share of what is lent)."},
    Flag{"quiet", FlagType::boolean, "false", "No progress bar on stderr, which terminals have.", 'q'},
    Flag{"help", FlagType::boolean, "false", "Print this and exit.", 'h'},
};
constexpr auto kFlags = runtime::join_flags(kOwnFlags, runtime::kClusterFlags);

struct Listing {
  std::string_view name;
  std::string_view one;   // what a NAME names
  std::string_view help;  // behind "koord NAME: "
  WhatToRead what;
  /// `all`: nobody has named one.
  std::string (*text)(const ClusterView& view, const NodePage& nodes, const Page& page, bool all);
  /// Leaves the one of that name, and of other parts nothing; the names that there are.
  std::vector<std::string> (*only)(ClusterView& view, std::string_view name);
};

template <class Row>
std::vector<std::string> keep(std::vector<Row>& rows, std::string_view name) {
  std::vector<std::string> names;
  names.reserve(rows.size());
  for (const Row& row : rows) names.push_back(row.name);
  // A gang may be named without its namespace.
  const auto is_it = [name](const Row& row) {
    const std::string_view own = row.name;
    const auto slash = own.rfind('/');
    return own == name || (slash != std::string_view::npos && own.substr(slash + 1) == name);
  };
  std::erase_if(rows, [&](const Row& row) { return !is_it(row); });
  return names;
}

constexpr Listing kNodes{"nodes",
                         "node",
                         "what each node uses, lends to batch pods and is asked for. `koord explain node "
                         "NAME` says how that comes about.",
                         {.nodes = true, .best_effort = true},
                         &nodes_text,
                         &leave_node};
constexpr Listing kLent{
    "lent",
    "node",
    "what nodes lend to batch pods, and who has it: CPU in cores, memory in Gi. A node that is asked for "
    "more than it "
    "lends now is marked with !.",
    {.nodes = true, .best_effort = true},
    [](const ClusterView& view, const NodePage&, const Page& page, bool all) {
      return lent_text(view, page, all);
    },
    &leave_node};
constexpr Listing kQuota{
    "quota",
    "quota",
    "ElasticQuotas: what they are sure of, have and may have, who lends and borrows, and for whom pods wait.",
    {.waiting = true, .quotas = true},
    [](const ClusterView& view, const NodePage&, const Page& page, bool) { return quotas_text(view, page); },
    [](ClusterView& view, std::string_view name) { return keep(view.quotas, name); }};
constexpr Listing kGangs{
    "gangs",
    "gang",
    "pods that start together: how many are there, placed and waiting, and why.",
    {.all_pods = true, .groups = true},
    [](const ClusterView& view, const NodePage&, const Page& page, bool) { return gangs_text(view, page); },
    [](ClusterView& view, std::string_view name) { return keep(view.gangs, name); }};
constexpr Listing kReservations{
    "reservations",
    "reservation",
    "Reservations that have not ended: where they keep room, how much of it pods have, and why they wait.",
    {.reservations = true},
    [](const ClusterView& view, const NodePage&, const Page& page, bool) {
      return reservations_text(view, page);
    },
    [](ClusterView& view, std::string_view name) { return keep(view.reservations, name); }};

/// What is not asked for is not in the answer for programs.
void leave_only(const Listing& listing, ClusterView& view) {
  if (!listing.what.nodes) view.tiers.clear();
  if (!listing.what.quotas) view.quotas.clear();
  if (!listing.what.groups) view.gangs.clear();
  if (!listing.what.reservations) view.reservations.clear();
}

class Command {
 public:
  Command(const Listing& listing, const runtime::FlagValues& flags, std::string name, Streams streams)
      : listing_(listing),
        flags_(flags),
        name_(std::move(name)),
        streams_(streams),
        clock_(loop_.get_executor()),
        bar_(streams.err, runtime::ProgressBar::on_terminal() && !flags.get_bool("quiet")) {}

  int run(runtime::OutputForm form, ClusterOrder order) {
    auto config = runtime::command_config(flags_, listing_.name);
    if (!config) return fail(config.error(), kUsage);
    auto reader = ClusterReader::make(
        loop_.get_executor(), clock_, std::move(*config),
        [this](std::string_view what, std::size_t done, std::size_t all) { bar_.show(what, done, all); });
    if (!reader) return fail(reader.error(), kUsage);
    reader_ = std::move(*reader);
    TaskGroup tasks(loop_.get_executor(), [this](std::string_view, const Error& e) { fail(e, kFailed); });
    tasks.spawn("list", list(form, order));
    while (tasks.size() > 0) loop_.run_one();
    return code_;
  }

 private:
  Task<Result<>> list(runtime::OutputForm form, ClusterOrder order) {
    KOORD_CO_TRY(figures, co_await reader_->read(listing_.what, flags_.get("namespace")));
    bar_.clear();
    ClusterView view = figures.view(reader_->server(), api::Time(clock_.now()));
    leave_only(listing_, view);
    if (!name_.empty()) {
      KOORD_CO_CHECK(choose(view));
    }
    if (runtime::is_for_programs(form)) {
      streams_.out << runtime::in_form(form, api::encode(view)) << std::flush;
    } else {
      Page page = Page::of(form, runtime::screen());
      page.height = 0;  // a listing is whole
      streams_.out << listing_.text(view, {order, 1, 0}, page, name_.empty()) << std::flush;
    }
    co_return Result<>();
  }

  Result<> choose(ClusterView& view) const {
    const auto known = listing_.only(view, name_);
    const bool found =
        !view.nodes.empty() || !view.quotas.empty() || !view.gangs.empty() || !view.reservations.empty();
    if (found) return {};
    const std::vector<std::string_view> names(known.begin(), known.end());
    const auto near = nearest(name_, names);
    return Error(Code::not_found,
                 fmt::format("there is no {} {} among {}{}", listing_.one, name_, known.size(),
                             near ? fmt::format(": did you mean {}?", *near) : ""));
  }

  int fail(const Error& error, int code) {
    bar_.clear();
    streams_.err << "koord: " << listing_.name << ": " << runtime::cleaned(std::string(error.message()))
                 << std::endl;
    return code_ = code;
  }

  const Listing& listing_;
  const runtime::FlagValues& flags_;
  const std::string name_;
  Streams streams_;
  asio::io_context loop_{1};
  SystemClock clock_;
  runtime::ProgressBar bar_;
  std::unique_ptr<ClusterReader> reader_;
  int code_ = kOk;
};

int run(const Listing& listing, std::span<const std::string> arguments, Streams streams) {
  const auto usage = [&](std::string_view what) {
    streams.err << "koord: " << listing.name << ": " << what << "\n";
    return kUsage;
  };
  const runtime::WordsAndFlags split = runtime::split_words(arguments, kFlags);
  for (const std::string& flag : split.flags) {
    if (flag != "--help" && flag != "-h") continue;
    streams.out << "koord " << listing.name << ": " << listing.help << "\n\n  koord " << listing.name
                << " [NAME] [flags]\n\n"
                << runtime::flags_help(kFlags);
    return kOk;
  }
  if (split.words.size() > 1)
    return usage(fmt::format("one {} at most, but got \"{}\" and \"{}\"", listing.one, split.words[0],
                             split.words[1]));
  const auto line = runtime::parse_flags(split.flags, {"", kFlags}, {});
  if (!line) return usage(line.error().message());
  const auto form = runtime::parse_output_form(line->process.get("output"));
  if (!form) return usage(form.error().message());
  const auto order = parse_cluster_order(line->process.get("sort"));
  if (!order) return usage("--sort is name, cpu, batch or asked");
  return Command(listing, line->process, split.words.empty() ? std::string() : split.words[0], streams)
      .run(*form, *order);
}

}  // namespace

int run_nodes(std::span<const std::string> arguments, Streams streams) {
  return run(kNodes, arguments, streams);
}
int run_lent(std::span<const std::string> arguments, Streams streams) {
  return run(kLent, arguments, streams);
}
int run_quota(std::span<const std::string> arguments, Streams streams) {
  return run(kQuota, arguments, streams);
}
int run_gangs(std::span<const std::string> arguments, Streams streams) {
  return run(kGangs, arguments, streams);
}
int run_reservations(std::span<const std::string> arguments, Streams streams) {
  return run(kReservations, arguments, streams);
}

}  // namespace koord::koordlet
