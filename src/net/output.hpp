// Output: what waits to be written to one connection; small pieces are joined, large shared ones kept.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "koord/net/message.hpp"

namespace koord::net {

class Output {
 public:
  void add(std::string_view text);
  /// Takes the string over if it is large.
  void add(std::string&& text);
  void add(const Bytes& bytes);

  bool empty() const { return pieces_.empty(); }
  std::size_t size() const { return size_; }
  /// The first piece; valid until the next call that changes the queue.
  std::string_view front() const;
  /// Piece `i`; empty past the end.
  std::string_view piece(std::size_t i) const;
  std::size_t pieces() const { return pieces_.size(); }
  void consume(std::size_t bytes);

 private:
  // Below this a copy is cheaper than one more buffer in a gathered write.
  static constexpr std::size_t kJoin = 4096;
  struct Piece {
    std::string own;
    Bytes shared;
    std::string_view text() const { return shared ? std::string_view(*shared) : std::string_view(own); }
  };
  std::deque<Piece> pieces_;
  std::size_t offset_ = 0;  // written of the first piece
  std::size_t size_ = 0;
};

/// The status line and headers. `chunked`: no Content-Length, the body follows in chunks.
struct ResponseHead {
  std::string_view date;
  bool keep_alive = true;
  bool chunked = false;
  bool http_1_0 = false;
};
void write_head(std::string& out, const Response& response, std::size_t body_size,
                const ResponseHead& options);
/// What a client adds to each request of one server.
struct RequestHead {
  std::string_view prefix;         // before every target
  std::string_view fixed;          // whole header lines, each with its CRLF
  std::string_view authorization;  // empty: none
  bool gzip = false;
};
/// The whole request, its body included.
void write_request(std::string& out, const Request& request, const RequestHead& options);
/// One header line with its CRLF; a line break in the value would smuggle another, and becomes a space.
void write_field(std::string& out, std::string_view name, std::string_view value);
std::string http_date(std::int64_t unix_seconds);
std::string_view reason_phrase(unsigned status);

}  // namespace koord::net
