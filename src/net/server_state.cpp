// Who has to go when a server is full, and what is said about it.
#include "server_state.hpp"

#include "output.hpp"
#include "server_connection.hpp"

namespace koord::net {

namespace {
constexpr auto kTellPeriod = std::chrono::minutes{1};
}

ServerState::ServerState(asio::any_io_executor executor, Clock& time, ServerOptions limits,
                         ServerHandlers answers)
    : clock(time),
      options(std::move(limits)),
      handlers(std::move(answers)),
      group(std::move(executor), log_failures(options.log)),
      tell_after_(clock.mono()) {}

void ServerState::enter(ServerConnection& connection) {
  connections_.insert(&connection);
  ++by_address_[connection.address()];
}

void ServerState::leave(ServerConnection& connection) {
  if (connections_.erase(&connection) == 0) return;
  const auto siblings = by_address_.find(connection.address());
  if (--siblings->second == 0) by_address_.erase(siblings);
}

bool ServerState::make_room() {
  if (connections_.size() < options.max_connections) return true;
  ServerConnection* first = nullptr;
  std::size_t most = 0;
  for (ServerConnection* connection : connections_) {
    if (!connection->expendable()) continue;
    const std::size_t siblings = by_address_.find(connection->address())->second;
    if (first && (siblings < most || (siblings == most && connection->since() >= first->since()))) continue;
    first = connection;
    most = siblings;
  }
  if (first == nullptr) {
    drop("refused", "");
    return false;
  }
  drop("evicted", first->address());
  first->break_off();
  return true;
}

void ServerState::drop(std::string_view reason, const std::string& address) {
  if (options.dropped) options.dropped->with({reason}).inc();
  ++untold_;
  if (!options.log || clock.mono() < tell_after_) return;
  tell_after_ = clock.mono() + kTellPeriod;
  options.log->warn("connections were dropped", kv("count", untold_), kv("last", reason),
                    kv("address", address), kv("connections", connections_.size()));
  untold_ = 0;
}

bool ServerState::keep(std::size_t before, std::size_t now) {
  body_bytes_ += now - before;
  return now <= before || body_bytes_ <= options.body_budget;
}

std::string_view ServerState::date_now() {
  const auto second = std::chrono::floor<std::chrono::seconds>(clock.now()).time_since_epoch().count();
  if (second != date_second_) {
    date_ = http_date(second);
    date_second_ = second;
  }
  return date_;
}

}  // namespace koord::net
