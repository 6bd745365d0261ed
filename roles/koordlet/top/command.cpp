// `koord top`: asks, prints, waits, until it is told to stop.
#include "top/command.hpp"

#include <fmt/format.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <ostream>

#include "koord/api/schema/codec.hpp"
#include "koord/async/system_clock.hpp"
#include "koord/async/timer.hpp"
#include "koord/base/version.hpp"
#include "koord/kube/config.hpp"
#include "koord/kube/transport.hpp"
#include "koord/runtime/command_cluster.hpp"
#include "koord/runtime/command_loop.hpp"
#include "koord/runtime/command_output.hpp"
#include "koord/runtime/flags.hpp"
#include "top/cluster_reader.hpp"
#include "top/cluster_text.hpp"
#include "top/view.hpp"

namespace koord::koordlet {
namespace {

using runtime::Flag;
using runtime::FlagType;
using runtime::kFailed;
using runtime::kOk;
using runtime::kUsage;
using runtime::OutputForm;
using runtime::Streams;

constexpr std::array kFlags = {
    Flag{"addr", FlagType::text, "127.0.0.1:9316", "The agent: HOST[:PORT], its --addr."},
    Flag{"cluster", FlagType::boolean, "false",
         "A cluster in place of an agent: nodes, tiers, what is lent to batch work, pods that wait and why; "
         "from the "
         "API server alone."},
    Flag{"kubeconfig", FlagType::text, "",
         "With --cluster: how to reach the API server; empty: the file that KUBECONFIG names, else the pod's "
         "service "
         "account, else ~/.kube/config."},
    Flag{"context", FlagType::text, "", "With --cluster: the kubeconfig's context; empty: its current one."},
    Flag{"sort", FlagType::text, "cpu",
         "With --cluster: nodes by cpu (share used), batch (CPU lent), asked (share of what is lent) or "
         "name."},
    Flag{"rows", FlagType::integer, "0",
         "With --cluster: nodes a page; 0: as many as fit on the terminal, elsewhere 50."},
    Flag{"page", FlagType::integer, "1", "With --cluster: which page of the nodes."},
    Flag{"output", FlagType::text, "text", "text, wide (nothing is cut), json or yaml: the last two once.",
         'o'},
    Flag{"once", FlagType::boolean, "false", "Print once and end."},
    Flag{"interval", FlagType::duration, "2s", "How often to print."},
    Flag{"quiet", FlagType::boolean, "false",
         "With --cluster: no progress bar on stderr, which terminals have.", 'q'},
    Flag{"help", FlagType::boolean, "false", "Print this and exit.", 'h'},
};

/// What is looked at: one text a look.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual Task<Result<std::string>> look(OutputForm form, const Page& page) = 0;
  /// What a person may do about an error; may be empty.
  virtual std::string_view hint(const Error&) const { return ""; }
};

constexpr std::string_view kPort = "9316";

/// HOST, :PORT and [ADDRESS] are completed.
std::string with_port(std::string address) {
  if (address.starts_with(':')) return fmt::format("127.0.0.1{}", address);
  const auto colon = address.rfind(':');
  const bool has_port = colon != std::string::npos && address.find(']', colon) == std::string::npos;
  return has_port ? address : fmt::format("{}:{}", address, kPort);
}

class Agent final : public Subject {
 public:
  Agent(std::unique_ptr<kube::Transport> transport, std::string server)
      : transport_(std::move(transport)), server_(std::move(server)) {}

  static Result<std::unique_ptr<Subject>> make(asio::any_io_executor executor, Clock& clock,
                                               const std::string& address) {
    kube::ClientConfig config;
    config.server = fmt::format("http://{}", with_port(address));
    config.user_agent = fmt::format("koord-top/{}", build_info().version);
    net::PoolOptions options;
    options.connect_timeout = options.request_timeout = std::chrono::seconds(5);
    KOORD_TRY(transport, kube::make_transport(std::move(executor), clock, config, options));
    return std::unique_ptr<Subject>(std::make_unique<Agent>(std::move(transport), config.server));
  }

  Task<Result<std::string>> look(OutputForm form, const Page& page) override {
    KOORD_CO_TRY(node, co_await ask<NodeView>("/apis/v1/node"));
    KOORD_CO_TRY(pods, co_await ask<PodListView>("/apis/v1/pods"));
    if (runtime::is_for_programs(form))
      co_return runtime::in_form(
          form, fmt::format(R"({{"node":{},"pods":{}}})", api::encode(node), api::encode(pods)));
    co_return render_top(node, pods, page);
  }

  std::string_view hint(const Error& error) const override {
    if (error.message().find("Connection refused") == std::string::npos) return "";
    return " (no agent serves there: koord --role=koordlet does, at its --addr)";
  }

 private:
  template <class View>
  Task<Result<View>> ask(std::string path) {
    net::Request request;
    request.target = path;
    const auto response = co_await transport_->send(request);
    if (!response) co_return response.error().context(server_);
    if (response->status != 200)
      co_return Error(Code::server_error, fmt::format("{}{}: status {}: {}", server_, path, response->status,
                                                      response->body.substr(0, response->body.find('\n'))));
    auto view = api::decode<View>(response->body);
    if (!view) co_return view.error().context(fmt::format("{}{}", server_, path));
    co_return std::move(*view);
  }

  std::unique_ptr<kube::Transport> transport_;
  const std::string server_;
};

class Cluster final : public Subject {
 public:
  Cluster(std::unique_ptr<ClusterReader> reader, Clock& clock, NodePage page)
      : reader_(std::move(reader)), clock_(clock), page_(page) {}

  static Result<std::unique_ptr<Subject>> make(asio::any_io_executor executor, Clock& clock,
                                               const runtime::FlagValues& flags, NodePage page,
                                               ClusterReader::Progress progress) {
    KOORD_TRY(config, runtime::command_config(flags, "top"));
    KOORD_TRY(reader,
              ClusterReader::make(std::move(executor), clock, std::move(config), std::move(progress)));
    return std::unique_ptr<Subject>(std::make_unique<Cluster>(std::move(reader), clock, page));
  }

  Task<Result<std::string>> look(OutputForm form, const Page& page) override {
    constexpr WhatToRead kWhat{.nodes = true,
                               .best_effort = true,
                               .waiting = true,
                               .quotas = true,
                               .groups = true,
                               .reservations = true};
    KOORD_CO_TRY(figures, co_await reader_->read(kWhat));
    figures::ClusterView view = figures.view(reader_->server(), api::Time(clock_.now()));
    view.gangs.clear();  // of those that are placed the pods were not read
    if (runtime::is_for_programs(form)) co_return runtime::in_form(form, api::encode(view));
    NodePage nodes = page_;
    if (nodes.rows == 0 && page.height == 0 && form != OutputForm::wide) nodes.rows = kRowsElsewhere;
    co_return cluster_text(view, nodes, page);
  }

 private:
  static constexpr std::size_t kRowsElsewhere = 50;
  std::unique_ptr<ClusterReader> reader_;
  Clock& clock_;
  NodePage page_;
};

class Top {
 public:
  Top(const runtime::FlagValues& flags, Streams streams)
      : flags_(flags),
        streams_(streams),
        clock_(loop_.get_executor()),
        bar_(streams.err, runtime::ProgressBar::on_terminal() && !flags.get_bool("quiet")) {}

  int run(OutputForm form, const NodePage& page) {
    form_ = form;
    auto made = flags_.get_bool("cluster")
                    ? Cluster::make(loop_.get_executor(), clock_, flags_, page,
                                    [this](std::string_view what, std::size_t done, std::size_t all) {
                                      if (!shown_) bar_.show(what, done, all);
                                    })
                    : Agent::make(loop_.get_executor(), clock_, flags_.get("addr"));
    if (!made) {
      streams_.err << "koord: top: " << made.error().message() << "\n";
      return kUsage;
    }
    subject_ = std::move(*made);
    const bool done = runtime::run_until_stopped(loop_, clock_, show());
    return done || !once() ? code_ : kFailed;  // who looks on and has seen enough has not failed
  }

 private:
  bool once() const { return flags_.get_bool("once") || runtime::is_for_programs(form_); }

  Task<> show() {
    const bool once = this->once();
    for (;;) {
      Page page = Page::of(form_, runtime::screen());
      const bool live = !once && page.height > 0;  // elsewhere one text follows the other
      if (once) page.height = 0;
      const Result<std::string> text = co_await subject_->look(form_, page);
      bar_.clear();
      if (!text && text.error().code() == Code::cancelled) co_return;
      if (!text) {
        streams_.err << "koord: top: " << text.error().message() << subject_->hint(text.error()) << std::endl;
        if (once) code_ = kFailed;
      } else {
        if (live) streams_.out << "\x1b[H\x1b[2J";
        streams_.out << *text << std::flush;
        shown_ = true;
      }
      if (once) co_return;
      if (!live && text) streams_.out << std::endl;
      const Result<> slept = co_await sleep(clock_, flags_.get_duration("interval"));
      if (!slept) co_return;
    }
  }

  const runtime::FlagValues& flags_;
  Streams streams_;
  asio::io_context loop_{1};
  SystemClock clock_;
  std::unique_ptr<Subject> subject_;
  runtime::ProgressBar bar_;
  OutputForm form_ = OutputForm::text;
  bool shown_ = false;  // what is read again is not told of
  int code_ = kOk;
};

}  // namespace

int run_top(std::span<const std::string> arguments, Streams streams) {
  for (const std::string& argument : arguments) {
    if (argument != "--help" && argument != "-h") continue;
    streams.out
        << "koord top: what the node agent on this host measures and does, as a live table; or a cluster "
           "(--cluster).\n\n"
        << runtime::flags_help(kFlags);
    return kOk;
  }
  const auto line = runtime::parse_flags(arguments, {"", kFlags}, {});
  if (!line) {
    streams.err << "koord: top: " << line.error().message() << "\n";
    return kUsage;
  }
  if (line->process.get_duration("interval") < std::chrono::milliseconds(100)) {
    streams.err << "koord: top: --interval: at least 100ms\n";
    return kUsage;
  }
  const auto order = parse_cluster_order(line->process.get("sort"));
  const std::int64_t rows = line->process.get_int("rows"), page = line->process.get_int("page");
  if (!order || rows < 0 || page < 1) {
    streams.err << "koord: top: --sort is cpu, batch, asked or name, --rows from 0, --page from 1\n";
    return kUsage;
  }
  const auto form = runtime::parse_output_form(line->process.get("output"));
  if (!form) {
    streams.err << "koord: top: " << form.error().message() << "\n";
    return kUsage;
  }
  return Top(line->process, streams)
      .run(*form, {*order, static_cast<std::size_t>(page), static_cast<std::size_t>(rows)});
}

}  // namespace koord::koordlet
