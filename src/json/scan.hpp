// Looking at the bytes of JSON strings, many at a time.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "koord/base/utf8.hpp"

namespace koord::json {

/// Quotes, backslashes, control characters and what is not ASCII.
inline bool is_special(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '\\';
}

/// The first special byte of [at, end), or end. Reads nothing outside.
inline const char* find_special(const char* at, const char* end) {
#if defined(__SSE2__)
  for (; end - at >= 16; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    // Compared as signed numbers, what is not ASCII is below the space, too.
    const __m128i hits = _mm_or_si128(
        _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20)),
        _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))));
    const int mask = _mm_movemask_epi8(hits);
    if (mask != 0) return at + std::countr_zero(static_cast<unsigned>(mask));
  }
#else
  // A word at a time: the high bit of each byte tells, and of a false alarm behind a true one the first
  // byte that counts is found below.
  constexpr std::uint64_t kOnes = 0x0101010101010101, kHigh = kOnes << 7;
  const auto zero = [](std::uint64_t v) { return (v - kOnes) & ~v & kHigh; };
  for (; end - at >= 8; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    const std::uint64_t hits = (word & kHigh) | ((word - kOnes * 0x20) & ~word & kHigh) |
                               zero(word ^ (kOnes * '"')) | zero(word ^ (kOnes * '\\'));
    if (hits != 0) break;
  }
#endif
  while (at != end && !is_special(*at)) ++at;
  return at;
}

using koord::utf8_length;

}  // namespace koord::json
