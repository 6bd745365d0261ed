// A webhook that allows everything unread: what merely asking one costs an API server.
//   empty_webhook PORT CA.pem      (loopback; the file is written when the port is open)
#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "koord/async/system_clock.hpp"
#include "koord/base/file.hpp"
#include "koord/net/certificate.hpp"
#include "koord/net/server.hpp"

using namespace koord;

namespace {

/// The first uid of a review is the request's: an API server writes it there.
net::Response allow(const net::Request& request) {
  constexpr std::string_view kUid = R"("uid":")";
  const std::string_view body = request.body;
  const std::size_t at = body.find(kUid);
  if (at == std::string_view::npos) return net::Response::text(400, "no review\n");
  const std::string_view rest = body.substr(at + kUid.size());
  return net::Response::json(
      200,
      fmt::format(
          R"({{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{{"uid":"{}","allowed":true}}}})",
          rest.substr(0, rest.find('"'))));
}

Result<> serve(asio::io_context& context, std::uint16_t port, const std::string& ca_path) {
  static SystemClock clock(context.get_executor());
  KOORD_TRY(ca, net::make_ca("bench", clock.now(), std::chrono::hours{24}, net::KeyKind::rsa_2048));
  KOORD_TRY(pair,
            net::issue_certificate(
                ca, {.common_name = "bench", .ip_addresses = {"127.0.0.1"}, .key = net::KeyKind::rsa_2048},
                clock.now()));
  net::TlsSettings settings;
  settings.certificate_pem = pair.certificate_pem;
  settings.key_pem = pair.key_pem;
  KOORD_TRY(tls, net::TlsContext::make_server(settings));
  static net::Server server(
      context.get_executor(), clock, {},
      {.handle = [](net::Request request) -> Task<net::Response> { co_return allow(request); },
       .fast = [](net::Request& request) { return std::optional(allow(request)); }});
  KOORD_CHECK(server.listen("127.0.0.1", port, std::move(tls)));
  KOORD_CHECK(replace_file(ca_path, ca.certificate_pem, {}));
  context.run();
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: empty_webhook PORT CA.pem\n");
    return 2;
  }
  asio::io_context context{1};
  const Result<> done = serve(context, static_cast<std::uint16_t>(std::atoi(argv[1])), argv[2]);
  if (!done) fmt::print(stderr, "empty_webhook: {}\n", done.error().message());
  std::fflush(stderr);
  std::_Exit(1);  // what idles is nobody's
}
