// Messages in terms of reservations: see event_text.hpp.
#include "scheduling/plugins/reservation/rules/event_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <vector>

namespace koord::scheduling::reservation {

namespace {

constexpr std::string_view kAvailable = " nodes are available: ", kReservations = " Reservation(s) ",
                           kTotal = "matched owner total",
                           kNamed = "exactly matches the requested reservation name",
                           kNodeReason = "for node reason that ";

/// Takes a number off the front; absent: there is none.
std::optional<std::int64_t> number(std::string_view& text) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || n < 0 || text.starts_with('-')) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return n;
}

bool skip(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(". ");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(". ") - from + 1);
}

/// Between commas, and between sentences.
template <class F>
void each_item(std::string_view text, F&& f) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.find(". "));
    f(trimmed(text.substr(0, end)));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
}

}  // namespace

std::optional<std::string> about_reservations(std::string_view message) {
  message = trimmed(message);
  if (!skip(message, "0/") || !number(message) || !skip(message, kAvailable)) return std::nullopt;
  std::optional<std::int64_t> total;
  std::vector<std::string_view> named, own, of_nodes;
  each_item(message, [&](std::string_view item) {
    std::string_view rest = item;
    const std::optional<std::int64_t> count = number(rest);
    if (!count || !skip(rest, kReservations)) return;
    if (rest == kTotal) {
      total = count;
    } else if (rest == kNamed) {
      named.push_back(item);
    } else if (rest.starts_with(kNodeReason)) {
      of_nodes.push_back(item);
    } else {
      own.push_back(item);
    }
  });
  if (!total) return std::nullopt;
  named.insert(named.end(), own.begin(), own.end());
  named.insert(named.end(), of_nodes.begin(), of_nodes.end());
  return fmt::format("0/{} reservations are available: {}.", *total, fmt::join(named, ", "));
}

}  // namespace koord::scheduling::reservation
