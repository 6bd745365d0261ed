// Heads of relayed requests and answers: what belongs to one hop is left out and written anew.
#pragma once

#include <string>
#include <string_view>

#include "koord/net/message.hpp"

namespace koord::net {

/// The request wants its connection to change the protocol.
bool asks_upgrade(const Request& request);

/// The end of a chunked body with its trailers, those aside that say how a message is read.
void write_last_chunk(std::string& out, const Headers& trailers);

/// `upgrade`: with the fields that ask for it.
void write_relayed_request(std::string& out, const Request& request, bool chunked, bool upgrade);

struct RelayedAnswer {
  bool verbatim = false;  // the connection is taken over: all fields stay
  bool chunked = false;
  bool http_1_0 = false;
  bool keep_alive = true;
};
void write_relayed_answer(std::string& out, const Response& head, std::string_view reason,
                          const RelayedAnswer& options);

}  // namespace koord::net
