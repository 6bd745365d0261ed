// Whether a sanitizer runs the tests: some ten times slower, so that what is only many may be fewer there.
#pragma once

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

}  // namespace koord::test
