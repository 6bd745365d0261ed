// Result<T>: a value or an Error; must be looked at.
#pragma once

#include <boost/system/result.hpp>

#include "koord/base/error.hpp"

namespace koord {

/// Found by argument-dependent lookup when value() is called on an error: misuse, so it throws.
[[noreturn]] void throw_exception_from_error(const Error& error, const boost::source_location& loc);

/// Derived, because an alias of boost::system::result would not be [[nodiscard]].
/// Default-constructible when T is (co_spawn wants that of what a coroutine returns).
template <class T = void>
class [[nodiscard]] Result : public boost::system::result<T, Error> {
 public:
  using Base = boost::system::result<T, Error>;
  using Base::Base;
};

/// KOORD_TRY(name, expression): evaluates an expression of type Result<T>; on error returns it from
/// the enclosing function, else `name` is the value. KOORD_CHECK is the same for Result<void>.
/// The CO_ forms are for coroutines.
#define KOORD_TRY_IMPL(ret, name, ...)                      \
  auto name##_result = (__VA_ARGS__);                       \
  if (!name##_result) ret std::move(name##_result).error(); \
  auto& name = *name##_result
#define KOORD_TRY(name, ...) KOORD_TRY_IMPL(return, name, __VA_ARGS__)
#define KOORD_CO_TRY(name, ...) KOORD_TRY_IMPL(co_return, name, __VA_ARGS__)
#define KOORD_CHECK(...) \
  if (auto check_result = (__VA_ARGS__); !check_result) return std::move(check_result).error()
#define KOORD_CO_CHECK(...) \
  if (auto check_result = (__VA_ARGS__); !check_result) co_return std::move(check_result).error()

}  // namespace koord
