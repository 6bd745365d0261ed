// `koord explain`: lists the cluster, asks an engine of its own, prints.
#include "explain/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <iostream>
#include <iterator>
#include <ostream>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/async/system_clock.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/file.hpp"
#include "koord/base/system.hpp"
#include "koord/kube/config.hpp"
#include "koord/kube/transport.hpp"
#include "koord/runtime/command_cluster.hpp"
#include "koord/runtime/command_flags.hpp"
#include "koord/runtime/command_output.hpp"
#include "koord/runtime/flags.hpp"
#include "koord/scheduling/config/gates.hpp"
#include "koord/scheduling/config/kube_gates.hpp"
#include "koord/scheduling/engine/engine.hpp"
#include "koord/scheduling/what_if/explain.hpp"
#include "koord/view/ask/cluster_lists.hpp"
#include "koord/view/ask/engine_to_ask.hpp"
#include "koord/view/ask/pod_file.hpp"

namespace koord::scheduler::explain {
namespace {

using namespace runtime;

constexpr std::array kOwnFlags = {
    Flag{"filename", FlagType::text, "",
         "A manifest (YAML or JSON) of a pod, or of what makes pods by a template, in place of a pod that "
         "there "
         "is; - is stdin.",
         'f'},
    Flag{"namespace", FlagType::text, "", "Of a pod that is named without one; empty: the kubeconfig's.",
         'n'},
    Flag{"config", FlagType::text, "",
         "The scheduler's KubeSchedulerConfiguration; empty: the default profile, for koord-scheduler and "
         "default-scheduler."},
    Flag{"koordinator-semantics", FlagType::boolean, "true", "As the scheduler's flag of this name."},
    Flag{"bind-unserved-pods", FlagType::boolean, "false", "As the scheduler's flag of this name."},
    Flag{"feature-gates", FlagType::text, "", "As the scheduler's flag of this name."},
    Flag{"scheduler", FlagType::text, "",
         "A running scheduler's secure port (https://HOST:10259): the attempts that it remembers are told, "
         "too. "
         "Asked with the kubeconfig's credentials, which must be allowed to get /apis/v1/attempts/*."},
    Flag{"scheduler-ca", FlagType::text, "",
         "The file of the CA that signed the scheduler's certificate; empty: the certificate is not checked, "
         "and "
         "credentials other than a client certificate are not sent."},
    Flag{"output", FlagType::text, "text", runtime::kOutputForms, 'o'},
    Flag{"nodes", FlagType::integer, "5", "So many of the nodes that would do are shown, with their scores."},
    Flag{"quiet", FlagType::boolean, "false", "No progress bar on stderr, which terminals have.", 'q'},
    Flag{"verbose", FlagType::boolean, "false", "Say on stderr, a line each, what is listed and done.", 'v'},
    Flag{"help", FlagType::boolean, "false", "Print this and exit.", 'h'},
};
constexpr auto kFlags = join_flags(kOwnFlags, kClusterFlags);

constexpr std::string_view kHelp =
    "koord explain: why a pod is where it is, or nowhere; what would have to change for it to fit; what it "
    "would\npreempt; which reservations are for it. Of a reservation the same, and which pods have what of "
    "it. "
    "It reads\nthe cluster once, writes nothing, and asks the scheduler's own engine.\n\n"
    "  koord explain pod NAMESPACE/NAME\n"
    "  koord explain pod NAME --namespace=NAMESPACE\n"
    "  koord explain reservation NAME\n"
    "  koord explain --filename=pod.yaml      a pod that there is not yet\n"
    "  koord explain node NAME                how its batch-cpu came about (koord explain node --help)\n\n";

constexpr std::string_view kWhatItTakes =
    "it takes one pod, reservation or node: koord explain pod NAMESPACE/NAME, koord explain reservation "
    "NAME, "
    "koord explain node NAME, or --filename=pod.yaml";

/// What is asked about; no name: what --filename says.
struct Subject {
  bool reservation = false;
  std::string name = {};
};

class Command {
 public:
  Command(const runtime::FlagValues& flags, Subject subject, Streams streams)
      : flags_(flags), subject_(std::move(subject)), streams_(streams), clock_(loop_.get_executor()) {}

  int run() {
    if (const Result<> ready = prepare(); !ready) return fail(ready.error(), kUsage);
    TaskGroup tasks(loop_.get_executor(), [this](std::string_view, const Error& e) {
      fail(runtime::at_server(config_, e), kFailed);
    });
    tasks.spawn("explain", answer());
    while (tasks.size() > 0) loop_.run_one();
    return code_;
  }

 private:
  Result<> prepare() {
    KOORD_CHECK(gates_.set(flags_.get("feature-gates")));
    KOORD_CHECK(scheduling::check_gates(gates_));
    view::EngineSettings settings{flags_.get("config"), flags_.get_bool("koordinator-semantics"),
                                  flags_.get_bool("bind-unserved-pods")};
    KOORD_TRY(asked, view::make_engine_to_ask(clock_, settings, gates_));
    asked_ = std::move(asked);
    KOORD_TRY(client, runtime::command_config(flags_, "explain"));
    config_ = client;
    namespace_ = flags_.get("namespace").empty() ? client.default_namespace : flags_.get("namespace");
    KOORD_TRY(transport, kube::make_transport(loop_.get_executor(), clock_, client));
    if (const std::string& url = flags_.get("scheduler"); !url.empty()) {
      KOORD_TRY(other, scheduler_config(client, url));
      KOORD_TRY(way, kube::make_transport(loop_.get_executor(), clock_, other));
      scheduler_ = std::move(way);
    }
    transport_ = std::move(transport);
    client_.emplace(*transport_, clock_, kube::Client::Options{});
    if (const std::string& file = flags_.get("filename"); !file.empty()) {
      std::string text;
      if (file == "-") {
        text.assign(std::istreambuf_iterator<char>(std::cin), {});
      } else {
        KOORD_TRY(read, read_file(file));
        text = std::move(read);
      }
      KOORD_TRY(json, view::pod_of_manifest(text, file == "-" ? "stdin" : file, namespace_));
      manifest_ = std::move(json);
    }
    return {};
  }

  /// Nobody is sent a token who has not shown that they are the scheduler.
  Result<kube::ClientConfig> scheduler_config(kube::ClientConfig client, const std::string& url) {
    client.server = url;
    client.tls_server_name.clear();
    client.pinned_cert_pem.clear();
    client.ca_pem.clear();
    client.ca_file.clear();
    client.insecure_skip_tls_verify = false;
    if (const std::string& file = flags_.get("scheduler-ca"); !file.empty()) {
      KOORD_TRY(pem, read_file(file));
      client.ca_pem = std::move(pem);
      return client;
    }
    client.insecure_skip_tls_verify = true;
    client.token.clear();
    client.token_file.clear();
    client.username.clear();
    client.password.clear();
    return client;
  }

  /// What the running scheduler remembers; what goes wrong is a note.
  Task<> ask_scheduler(scheduling::explain::ExplanationView& view) {
    if (!scheduler_) co_return;
    progress("asking the scheduler");
    net::Request request;
    request.target = fmt::format("/apis/v1/attempts/{}", view.pod);
    const Result<net::Response> response = co_await scheduler_->send(request);
    if (!response) {
      view.notes.push_back(fmt::format("the scheduler could not be asked: {}", response.error().message()));
      co_return;
    }
    auto known = api::decode<scheduling::AttemptsRecord>(response->body);
    if (response->status == 200 && known) {
      view.attempts = std::move(known->attempts);
      co_return;
    }
    view.notes.push_back(fmt::format("the scheduler said ({}): {}", response->status,
                                     response->body.substr(0, response->body.find('\n'))));
  }

  Task<Result<>> answer() {
    scheduling::explain::Question question;
    std::string note;
    std::shared_ptr<const api::Reservation> reservation;
    if (!manifest_.empty()) {
      KOORD_CO_TRY(made, co_await view::admit(*client_, manifest_));
      question.pod = made.pod;
      question.exists = false;
      note = std::move(made.note);
    } else if (subject_.reservation) {
      KOORD_CO_TRY(found, co_await client_->get<api::Reservation>({"", subject_.name}));
      reservation = std::make_shared<const api::Reservation>(std::move(found));
    } else {
      const std::string& name = subject_.name;
      const auto slash = name.find('/');
      kube::ObjectKey key{slash == std::string::npos ? namespace_ : name.substr(0, slash),
                          slash == std::string::npos ? name : name.substr(slash + 1)};
      auto pod = co_await client_->get<api::Pod>(key);
      if (!pod && is_missing_object(pod.error()))
        co_return Error(Code::not_found, fmt::format("{} in the namespace {} (--namespace names another)",
                                                     pod.error().message(), key.ns));
      if (!pod) co_return std::move(pod).error();
      question.pod = std::make_shared<const api::Pod>(std::move(*pod));
    }
    if (asked_.transforms && question.pod)
      question.pod = scheduling::Transforms().pod(std::move(question.pod));
    view::ClusterLists lists(
        *client_, *asked_.engine,
        [this](std::string_view what, std::size_t done, std::size_t all) { progress(what, done, all); });
    KOORD_CO_CHECK(co_await lists.read());
    question.best = static_cast<std::size_t>(std::clamp<std::int64_t>(flags_.get_int("nodes"), 1, 1000));
    question.now = clock_.now();
    question.defaults = flags_.get("config").empty();
    question.progress = [this](std::string_view what) { progress(what); };
    scheduling::explain::ExplanationView view;
    if (reservation) {
      view = scheduling::explain::explain(
          *asked_.engine, scheduling::explain::ReservationQuestion{reservation, lists.waiting(), question});
    } else {
      question.ahead = view::pods_ahead(lists.waiting(), *question.pod);
      view = scheduling::explain::explain(*asked_.engine, question);
    }
    co_await ask_scheduler(view);
    if (asked_.extended) view.notes.push_back("the configuration's extenders were not asked");
    if (!note.empty()) view.notes.push_back(std::move(note));
    view.notes.insert(view.notes.end(), lists.notes().begin(), lists.notes().end());
    progress("");
    const OutputForm form = *parse_output_form(flags_.get("output"));
    streams_.out << (is_for_programs(form)
                         ? in_form(form, api::encode(view))
                         : for_people(form, scheduling::explain::render(view, form == OutputForm::wide)))
                 << std::flush;
    co_return Result<>();
  }

  /// A bar on a terminal, lines where they are wanted.
  void progress(std::string_view what, std::size_t done = 0, std::size_t all = 0) {
    if (what.empty()) return bar_.clear();
    if (done > 0)
      bar_.show(what, done, all);
    else
      bar_.show(what);
    if (!flags_.get_bool("verbose")) return;
    bar_.clear();
    streams_.err << "koord: explain: " << what << (done > 0 ? fmt::format(": {}", done) : "") << "\n";
  }

  int fail(const Error& error, int code) {
    progress("");
    streams_.err << "koord: explain: " << runtime::cleaned(std::string(error.message())) << std::endl;
    return code_ = code;
  }

  const runtime::FlagValues& flags_;
  FeatureGates gates_{scheduling::gates()};
  const Subject subject_;
  Streams streams_;
  asio::io_context loop_{1};
  SystemClock clock_;
  view::EngineToAsk asked_;
  std::unique_ptr<kube::Transport> transport_, scheduler_;
  std::optional<kube::Client> client_;
  std::string namespace_, manifest_;
  runtime::ProgressBar bar_{streams_.err, runtime::ProgressBar::on_terminal() && !flags_.get_bool("quiet")};
  kube::ClientConfig config_;
  int code_ = kOk;
};

}  // namespace

std::span<const Flag> flags() { return kFlags; }

int run_explain(std::span<const std::string> arguments, Streams streams) {
  const auto usage = [&](std::string_view what) {
    streams.err << "koord: explain: " << what << "\n";
    return kUsage;
  };
  const WordsAndFlags split = split_words(arguments, kFlags);
  for (const std::string& flag : split.flags) {
    if (flag != "--help" && flag != "-h") continue;
    streams.out << kHelp << runtime::flags_help(kFlags);
    return kOk;
  }
  const auto line = runtime::parse_flags(split.flags, {"", kFlags}, {});
  if (!line) return usage(line.error().message());
  const runtime::FlagValues& values = line->process;
  if (const auto form = runtime::parse_output_form(values.get("output")); !form)
    return usage(form.error().message());
  const std::vector<std::string>& words = split.words;
  if (!values.get("filename").empty()) {
    if (!words.empty()) return usage("what the cluster has, or --filename: one of the two");
    return Command(values, {}, streams).run();
  }
  if (words.empty()) return usage(kWhatItTakes);
  const bool pod = words[0] == "pod" || words[0] == "pods";
  if (!pod && words[0] != "reservation" && words[0] != "reservations")
    return usage(fmt::format("\"{}\" is not explained: {}", words[0], kWhatItTakes));
  if (words.size() == 1)
    return usage(pod ? "which pod? koord explain pod NAMESPACE/NAME"
                     : "which reservation? koord explain reservation NAME");
  if (words.size() > 2)
    return usage(fmt::format("one at a time, but got \"{}\" and \"{}\"", words[1], words[2]));
  return Command(values, {!pod, words[1]}, streams).run();
}

}  // namespace koord::scheduler::explain
