// The writing side of HTTP/1.1: heads and the queue of pieces.
#include "output.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>

namespace koord::net {
namespace {

struct Reason {
  unsigned status;
  std::string_view phrase;
};
constexpr std::array kReasons = {
    Reason{200, "OK"},
    Reason{201, "Created"},
    Reason{202, "Accepted"},
    Reason{204, "No Content"},
    Reason{301, "Moved Permanently"},
    Reason{304, "Not Modified"},
    Reason{400, "Bad Request"},
    Reason{401, "Unauthorized"},
    Reason{403, "Forbidden"},
    Reason{404, "Not Found"},
    Reason{405, "Method Not Allowed"},
    Reason{406, "Not Acceptable"},
    Reason{409, "Conflict"},
    Reason{410, "Gone"},
    Reason{413, "Request Entity Too Large"},
    Reason{415, "Unsupported Media Type"},
    Reason{421, "Misdirected Request"},
    Reason{422, "Unprocessable Entity"},
    Reason{429, "Too Many Requests"},
    Reason{431, "Request Header Fields Too Large"},
    Reason{500, "Internal Server Error"},
    Reason{501, "Not Implemented"},
    Reason{502, "Bad Gateway"},
    Reason{503, "Service Unavailable"},
    Reason{504, "Gateway Timeout"},
};

template <class T>
void append_number(std::string& out, T number) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number);
  out.append(digits, end.ptr);
}

void write_length(std::string& out, std::size_t size) {
  out.append("Content-Length: ");
  append_number(out, size);
  out.append("\r\n");
}

// A value with a line break in it would smuggle a header.
void append_value(std::string& out, std::string_view value) {
  for (const char c : value) out.push_back(c == '\r' || c == '\n' || c == '\0' ? ' ' : c);
}

}  // namespace

void Output::add(std::string_view text) {
  if (text.empty()) return;
  size_ += text.size();
  if (pieces_.empty() || pieces_.back().shared || pieces_.back().own.size() >= 4 * kJoin)
    pieces_.emplace_back();
  pieces_.back().own.append(text);
}

void Output::add(std::string&& text) {
  if (text.size() < kJoin) return add(std::string_view(text));
  size_ += text.size();
  pieces_.push_back({std::move(text), nullptr});
}

void Output::add(const Bytes& bytes) {
  if (bytes->size() < kJoin) return add(std::string_view(*bytes));
  size_ += bytes->size();
  pieces_.push_back({{}, bytes});
}

std::string_view Output::front() const { return pieces_.front().text().substr(offset_); }

std::string_view Output::piece(std::size_t i) const {
  if (i >= pieces_.size()) return {};
  return i == 0 ? front() : pieces_[i].text();
}

void Output::consume(std::size_t bytes) {
  size_ -= bytes;
  while (bytes > 0) {
    const std::size_t left = front().size();
    if (bytes < left) {
      offset_ += bytes;
      return;
    }
    bytes -= left;
    offset_ = 0;
    pieces_.pop_front();
  }
}

std::string_view reason_phrase(unsigned status) {
  for (const Reason& reason : kReasons)
    if (reason.status == status) return reason.phrase;
  return "Status";
}

void write_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ");
  append_value(out, value);
  out.append("\r\n");
}

void write_head(std::string& out, const Response& response, std::size_t body_size,
                const ResponseHead& options) {
  out.append(options.http_1_0 ? "HTTP/1.0 " : "HTTP/1.1 ");
  append_number(out, response.status);
  out.append(" ")
      .append(reason_phrase(response.status))
      .append("\r\nDate: ")
      .append(options.date)
      .append("\r\n");
  if (!response.content_type.empty()) write_field(out, "Content-Type", response.content_type);
  for (std::size_t i = 0; i < response.headers.size(); ++i) {
    const auto [name, value] = response.headers.at(i);
    write_field(out, name, value);
  }
  if (options.chunked) {
    if (!options.http_1_0) out.append("Transfer-Encoding: chunked\r\n");
  } else if (response.status != 204 && response.status != 304) {
    write_length(out, body_size);
  }
  if (!options.keep_alive)
    out.append("Connection: close\r\n");
  else if (options.http_1_0)
    out.append("Connection: keep-alive\r\n");
  out.append("\r\n");
}

void write_request(std::string& out, const Request& request, const RequestHead& options) {
  out.append(request.method).append(" ").append(options.prefix).append(request.target);
  out.append(" HTTP/1.1\r\n").append(options.fixed);
  if (!options.authorization.empty()) write_field(out, "Authorization", options.authorization);
  if (options.gzip) out.append("Accept-Encoding: gzip\r\n");
  for (std::size_t i = 0; i < request.headers.size(); ++i) {
    const auto [name, value] = request.headers.at(i);
    write_field(out, name, value);
  }
  const bool has_body = request.method == "POST" || request.method == "PUT" || request.method == "PATCH" ||
                        !request.body.empty();
  if (has_body) write_length(out, request.body.size());
  out.append("\r\n").append(request.body);
}

std::string http_date(std::int64_t unix_seconds) {
  static constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::chrono::sys_seconds at{std::chrono::seconds{unix_seconds}};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(at - day);
  char text[64];
  std::snprintf(text, sizeof text, "%s, %02u %s %04d %02ld:%02ld:%02ld GMT",
                kDays[std::chrono::weekday(day).c_encoding()], static_cast<unsigned>(date.day()),
                kMonths[static_cast<unsigned>(date.month()) - 1], static_cast<int>(date.year()),
                static_cast<long>(time.hours().count()), static_cast<long>(time.minutes().count()),
                static_cast<long>(time.seconds().count()));
  return text;
}

}  // namespace koord::net
