// Reviews as an API server asks them: kept-alive TLS, one at a time a client, as fast as they are answered.
//   review_flood PORT CA.pem REVIEW.json PID SECONDS CLIENTS    (of the manager at loopback:PORT, which is
//   PID)
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "koord/async/system_clock.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/file.hpp"
#include "koord/net/pool.hpp"
#include "koord/net/tls.hpp"

using namespace koord;

namespace {

/// Of a process: user and system.
double cpu_seconds(const std::string& pid) {
  std::string path = "/proc/";
  path.append(pid).append("/stat");
  const std::string text = read_file(path).value();
  const char* at = text.c_str() + text.rfind(')') + 1;
  unsigned long user = 0, system = 0;
  if (std::sscanf(at, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2) return 0;
  return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

struct Flood {
  net::Pool& pool;
  Clock& clock;
  const net::Request& request;
  MonoTime end;
  std::vector<double> took = {};  // microseconds
  int refused = 0;
};

Task<> ask(Flood& flood) {
  while (flood.clock.mono() < flood.end) {
    const MonoTime began = flood.clock.mono();
    const auto answer = co_await flood.pool.send(flood.request);
    if (!answer || answer->status != 200 || answer->body.find(R"("allowed":true)") == std::string::npos)
      ++flood.refused;
    flood.took.push_back(std::chrono::duration<double, std::micro>(flood.clock.mono() - began).count());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "usage: review_flood PORT CA.pem REVIEW.json PID SECONDS CLIENTS\n");
    return 2;
  }
  const std::string pid = argv[4];
  const int clients = std::atoi(argv[6]);
  asio::io_context context{1};
  SystemClock clock(context.get_executor());
  const auto tls =
      net::TlsContext::make_client({.server_name = "localhost", .ca_pem = read_file(argv[2]).value()});
  std::string url = "https://127.0.0.1:";
  net::Pool pool(context.get_executor(), clock, net::parse_url(url.append(argv[1])).value(), tls.value(), {});
  net::Request request;
  request.method = "POST";
  request.target = "/mutate-pod?timeout=10s";
  request.headers.add("Content-Type", "application/json");
  request.body = read_file(argv[3]).value();
  for (const bool measured : {false, true}) {  // the first second fills caches and connections
    Flood flood{
        pool, clock, request,
        clock.mono() + (measured ? std::chrono::seconds(std::atoi(argv[5])) : std::chrono::seconds(1))};
    const double cpu = cpu_seconds(pid);
    const MonoTime began = clock.mono();
    {
      TaskGroup group(context.get_executor());
      for (int i = 0; i < clients; ++i) group.spawn("client", ask(flood));
      context.restart();
      while (group.size() > 0 && context.run_one() > 0) {
      }
    }
    if (!measured) continue;
    const double seconds = std::chrono::duration<double>(clock.mono() - began).count(),
                 used = cpu_seconds(pid) - cpu;
    std::ranges::sort(flood.took);
    const auto count = static_cast<double>(flood.took.size());
    double sum = 0;
    for (const double each : flood.took) sum += each;
    std::printf(
        "%d clients: %.0f reviews/s, mean %.3f ms, p50 %.3f, p99 %.3f; CPU %.3f ms a review; %d not "
        "allowed\n",
        clients, count / seconds, sum / count / 1e3, flood.took[flood.took.size() / 2] / 1e3,
        flood.took[flood.took.size() * 99 / 100] / 1e3, used / count * 1e3, flood.refused);
  }
  std::fflush(stdout);
  std::_Exit(0);  // what idles is nobody's
}
