// The store as the text of its file, without any container's environment.
#pragma once

#include <string>
#include <string_view>

#include "koord/base/result.hpp"
#include "store/store.hpp"

namespace koord::proxy {

/// No longer than this, or it is no such file.
inline constexpr std::size_t kMostStoreText = std::size_t{256} << 20;

std::string store_text(const Store::Kept& kept);
/// Puts what the text has into `store`, which is empty, as far as there is room. Errors name the place, and
/// leave it empty: Code::unsupported for the text of another version, Code::parse and Code::invalid for what
/// is no such text.
Result<> read_store(std::string_view text, Store& store);

}  // namespace koord::proxy
