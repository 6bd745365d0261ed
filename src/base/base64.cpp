// Base64 by OpenSSL: see base64.hpp.
#include "koord/base/base64.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <new>

namespace koord {
namespace {

struct Free {
  void operator()(EVP_ENCODE_CTX* context) const { EVP_ENCODE_CTX_free(context); }
};

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

}  // namespace

std::string encode_base64(std::string_view data) {
  constexpr std::size_t kPart =
      3 << 20;  // OpenSSL counts in int; whole groups, so that only the end is padded
  std::string out((data.size() + 2) / 3 * 4 + 1, '\0');  // it ends what it writes with a NUL
  unsigned char* to = bytes(out);
  for (; !data.empty(); data.remove_prefix(std::min(data.size(), kPart)))
    to += EVP_EncodeBlock(to, bytes(data), static_cast<int>(std::min(data.size(), kPart)));
  out.pop_back();
  return out;
}

std::optional<std::string> decode_base64(std::string_view text) {
  // To OpenSSL a hyphen is the end, whatever follows, and a tab a blank.
  if (text.find_first_of("-\t") != std::string_view::npos) return std::nullopt;
  if (text.size() > std::numeric_limits<int>::max()) return std::nullopt;
  const std::unique_ptr<EVP_ENCODE_CTX, Free> context(EVP_ENCODE_CTX_new());
  if (!context) throw std::bad_alloc();
  EVP_DecodeInit(context.get());
  std::string out(text.size() / 4 * 3 + 3, '\0');
  int size = 0, rest = 0;
  if (EVP_DecodeUpdate(context.get(), bytes(out), &size, bytes(text), static_cast<int>(text.size())) < 0 ||
      EVP_DecodeFinal(context.get(), bytes(out) + size, &rest) < 0)
    return std::nullopt;
  out.resize(static_cast<std::size_t>(size + rest));
  return out;
}

}  // namespace koord
