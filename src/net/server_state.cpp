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
  ++strangers_;
}

void ServerState::proved(ServerConnection& connection) { strangers_ -= connections_.count(&connection); }

void ServerState::leave(ServerConnection& connection) {
  if (connections_.erase(&connection) > 0 && !connection.proven()) --strangers_;
}

bool ServerState::make_room() {
  const bool too_many_strangers = strangers_ >= options.max_connections - options.max_connections / 4;
  if (connections_.size() < options.max_connections && !too_many_strangers) return true;
  ServerConnection* first = nullptr;
  ServerConnection::DropRank weakest;
  for (ServerConnection* connection : connections_) {
    if (too_many_strangers && connection->proven()) continue;
    const ServerConnection::DropRank rank = connection->drop_rank();
    if (rank.kind == ServerConnection::DropRank::served || rank <= weakest) continue;
    first = connection;
    weakest = rank;
  }
  if (first == nullptr) {
    if (connections_.size() < options.max_connections) return true;
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

bool ServerState::keep(const ServerConnection& connection, std::size_t before, std::size_t now) {
  body_bytes_ += now - before;
  while (now > before && body_bytes_ > options.body_budget) {
    ServerConnection* dearest = nullptr;
    for (ServerConnection* each : connections_)
      if (each->body_cost() > (dearest ? dearest->body_cost() : connection.body_cost())) dearest = each;
    if (dearest == nullptr) return false;
    drop("bodies", dearest->address());
    dearest->drop_body();
  }
  return true;
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
