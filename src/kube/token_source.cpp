// Reading a token costs microseconds, so it is done in place.
#include "token_source.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include "koord/base/file.hpp"
#include "koord/kube/config.hpp"

namespace koord::kube {

namespace {
constexpr std::size_t kMaxToken = std::size_t{64} << 10;
}  // namespace

TokenSource::TokenSource(const ClientConfig& config, Clock& clock)
    : clock_(clock), file_(config.token_file), next_(clock.mono()) {
  if (!file_.empty()) return;
  if (!config.token.empty()) {
    header_ = fmt::format("Bearer {}", config.token);
  } else if (!config.username.empty()) {
    const std::string pair = fmt::format("{}:{}", config.username, config.password);
    std::string encoded((pair.size() + 2) / 3 * 4 + 1, '\0');
    EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                    reinterpret_cast<const unsigned char*>(pair.data()), static_cast<int>(pair.size()));
    encoded.pop_back();
    header_ = fmt::format("Basic {}", encoded);
  }
}

Result<std::string> TokenSource::read() const {
  auto text = read_file(file_, kMaxToken);
  if (!text) return Error(Code::unauthorized, text.error().message());
  std::string token = std::move(*text);
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r' || token.back() == ' '))
    token.pop_back();
  if (token.empty() || token.find_first_of("\r\n") != std::string::npos)
    return Error(Code::unauthorized, fmt::format("{}: does not hold one line with a token", file_));
  return fmt::format("Bearer {}", token);
}

Result<> TokenSource::refresh() {
  if (file_.empty() || clock_.mono() < next_) return {};
  auto token = read();
  if (!token) {
    if (header_.empty()) return std::move(token).error();
    return {};
  }
  next_ = clock_.mono() + kPeriod;
  header_ = std::move(*token);
  return {};
}

bool TokenSource::reload() {
  if (file_.empty()) return false;
  const auto token = read();
  if (!token || *token == header_) return false;
  next_ = clock_.mono() + kPeriod;
  header_ = *token;
  return true;
}

}  // namespace koord::kube
