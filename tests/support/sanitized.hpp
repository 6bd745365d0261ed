// Whether a sanitizer runs the tests: some ten times slower, so that what is only many may be fewer there.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace koord::test {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KOORD_TEST_SANITIZED
#endif
#endif
#if defined(KOORD_TEST_SANITIZED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// What the tests are not asked for at each change, `packaging/dev test --long` asks of them.
inline bool is_long() { return std::getenv("KOORD_LONG_TESTS") != nullptr; }

/// Whether a test may do with less than its whole: under a sanitizer, where the whole is not asked for.
inline bool is_short() { return kSanitized && !is_long(); }

/// How many of so many hostile inputs are taken: a tenth where the tests may do with less.
inline std::size_t hostile(std::size_t count) { return is_short() ? count / 10 : count; }

}  // namespace koord::test
