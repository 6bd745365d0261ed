// Relay: how its hops connect.
#include "koord/net/relay.hpp"

#include "koord/async/resolve.hpp"
#include "koord/async/timer.hpp"
#include "relay_hop.hpp"

namespace koord::net {

Task<Result<std::unique_ptr<Connection>>> Relay::Impl::connect() {
  const Url& to = options.to;
  auto connection = std::make_unique<Connection>(executor_, clock_, room_);
  connection->set_deadline(options.connect_timeout);
  if (!to.unix_path.empty()) {
    KOORD_CO_CHECK(co_await connection->connect_unix(to.unix_path));
  } else {
    auto lookup = resolve(clock_, to.host, {});
    KOORD_CO_TRY(addresses, co_await with_timeout(clock_, options.connect_timeout, std::move(lookup)));
    KOORD_CO_CHECK(co_await connection->connect(addresses, to.port, nullptr));
  }
  connection->set_deadline(nanoseconds{0});
  co_return std::move(connection);
}

Relay::Relay(asio::any_io_executor executor, Clock& clock, RelayOptions options)
    : impl_(std::make_unique<Impl>(std::move(executor), clock, std::move(options))) {}
Relay::~Relay() = default;
RelayCounts Relay::counts() const { return impl_->counts; }

}  // namespace koord::net
