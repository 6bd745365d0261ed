// `koord top`: asks, prints, waits, until it is told to stop.
#include "top/command.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <ostream>

#include "koord/api/schema/codec.hpp"
#include "koord/async/event.hpp"
#include "koord/async/signals.hpp"
#include "koord/async/system_clock.hpp"
#include "koord/async/task_group.hpp"
#include "koord/async/timer.hpp"
#include "koord/base/version.hpp"
#include "koord/kube/config.hpp"
#include "koord/kube/transport.hpp"
#include "koord/runtime/flags.hpp"
#include "top/view.hpp"

namespace koord::koordlet {
namespace {

using runtime::Flag;
using runtime::FlagType;
using runtime::kFailed;
using runtime::kOk;
using runtime::kUsage;
using runtime::Streams;

constexpr std::array kFlags = {
    Flag{"addr", FlagType::text, "127.0.0.1:9316", "The agent: HOST[:PORT], its --addr."},
    Flag{"once", FlagType::boolean, "false", "Print once and end."},
    Flag{"interval", FlagType::duration, "2s", "How often to print."},
    Flag{"help", FlagType::boolean, "false", "Print this and exit.", 'h'},
};

/// Columns and lines of the terminal; 0 lines where there is none.
std::pair<std::size_t, std::size_t> terminal() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {120, 0};
  return {size.ws_col, size.ws_row};
}

constexpr std::string_view kPort = "9316";

/// HOST, :PORT and [ADDRESS] are completed.
std::string with_port(std::string address) {
  if (address.starts_with(':')) return fmt::format("127.0.0.1{}", address);
  const auto colon = address.rfind(':');
  const bool has_port = colon != std::string::npos && address.find(']', colon) == std::string::npos;
  return has_port ? address : fmt::format("{}:{}", address, kPort);
}

class Top {
 public:
  Top(const runtime::FlagValues& flags, Streams streams)
      : flags_(flags), streams_(streams), clock_(loop_.get_executor()), signals_(loop_.get_executor()) {}

  int run() {
    kube::ClientConfig config;
    config.server = fmt::format("http://{}", with_port(flags_.get("addr")));
    config.user_agent = fmt::format("koord-top/{}", build_info().version);
    net::PoolOptions options;
    options.connect_timeout = options.request_timeout = std::chrono::seconds(5);
    auto made = kube::make_transport(loop_.get_executor(), clock_, config, options);
    if (!made) {
      streams_.err << "koord: top: " << made.error().message() << "\n";
      return kUsage;
    }
    transport_ = std::move(*made);
    TaskGroup tasks(loop_.get_executor(), [](std::string_view, const Error&) {});
    TaskGroup main(loop_.get_executor());
    tasks.spawn("show", show());
    tasks.spawn("signal", signal());
    main.spawn("main", live(tasks));
    while (main.size() > 0) loop_.run_one();
    return code_;
  }

 private:
  Task<> live(TaskGroup& tasks) {
    const Result<> ended = co_await ended_.wait();
    (void)ended;  // nobody cancels this task
    co_await tasks.stop(clock_, std::chrono::seconds(1));
  }

  Task<> signal() {
    const Result<int> number = co_await signals_.wait();
    if (number) ended_.set();
  }

  template <class View>
  Task<Result<View>> ask(std::string path) {
    net::Request request;
    request.target = path;
    KOORD_CO_TRY(response, co_await transport_->send(request));
    if (response.status != 200)
      co_return Error(Code::server_error, fmt::format("{}: status {}: {}", path, response.status,
                                                      response.body.substr(0, response.body.find('\n'))));
    co_return api::decode<View>(response.body);
  }

  Task<Result<std::string>> look() {
    KOORD_CO_TRY(node, co_await ask<NodeView>("/apis/v1/node"));
    KOORD_CO_TRY(pods, co_await ask<PodListView>("/apis/v1/pods"));
    const auto [width, height] = terminal();
    co_return render_top(node, pods, width, flags_.get_bool("once") ? 0 : height);
  }

  static std::string_view hint(const Error& error) {
    if (error.message().find("Connection refused") == std::string::npos) return "";
    return " (no agent serves there: koord --role=koordlet does, at its --addr)";
  }

  Task<Result<>> show() {
    const bool once = flags_.get_bool("once");
    for (;;) {
      const Result<std::string> text = co_await look();
      if (!text && text.error().code() == Code::cancelled) co_return Result<>();
      if (!text) {
        streams_.err << "koord: top: " << text.error().message() << hint(text.error()) << std::endl;
        if (once) code_ = kFailed;
      } else {
        if (!once) streams_.out << "\x1b[H\x1b[2J";
        streams_.out << *text << std::flush;
      }
      if (once) {
        ended_.set();
        co_return Result<>();
      }
      KOORD_CO_CHECK(co_await sleep(clock_, flags_.get_duration("interval")));
    }
  }

  const runtime::FlagValues& flags_;
  Streams streams_;
  asio::io_context loop_{1};
  SystemClock clock_;
  StopSignals signals_;
  std::unique_ptr<kube::Transport> transport_;
  Event ended_;
  int code_ = kOk;
};

}  // namespace

int run_top(std::span<const std::string> arguments, Streams streams) {
  for (const std::string& argument : arguments) {
    if (argument != "--help" && argument != "-h") continue;
    streams.out << "koord top: what the node agent on this host measures and does, as a live table.\n\n"
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
  return Top(line->process, streams).run();
}

}  // namespace koord::koordlet
