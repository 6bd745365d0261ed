// Text that others wrote, made fit to be answered with.
#include "koord/base/utf8.hpp"

#include <cstdint>
#include <cstring>

namespace koord {
namespace {

/// The first byte of [at, end) that belongs to no character, or end. Eight plain bytes at a time.
const char* find_bad(const char* at, const char* end) {
  while (at != end) {
    std::uint64_t word = 0;
    if (end - at >= 8) std::memcpy(&word, at, 8);
    if (end - at >= 8 && (word & 0x8080808080808080) == 0) {
      at += 8;
      continue;
    }
    const int length = utf8_length(at, end);
    if (length == 0) return at;
    at += length;
  }
  return end;
}

}  // namespace

std::string to_utf8(std::string text) {
  const char* const end = text.data() + text.size();
  const char* good = text.data();
  const char* bad = find_bad(good, end);
  if (bad == end) return text;
  std::string out;
  out.reserve(text.size() + 16);
  for (; bad != end; bad = find_bad(good, end)) {
    out.append(good, bad).append("\xef\xbf\xbd");
    good = bad + 1;
  }
  return out.append(good, end);
}

}  // namespace koord
