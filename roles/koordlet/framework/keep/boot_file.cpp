// BootFile: see boot_file.hpp.
#include "framework/keep/boot_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "koord/base/file.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {

Result<> BootFile::load(const std::function<bool(std::string_view row)>& take) {
  stale_ = false;
  if (place_.path.empty()) return {};
  bool found = false;
  KOORD_CHECK(read(place_.path, take, found));
  for (const std::string& path : place_.older) {
    if (found) break;
    KOORD_CHECK(read(path, take, found));
    stale_ = found;  // it moves
  }
  return {};
}

Result<> BootFile::read(const std::string& path, const std::function<bool(std::string_view row)>& take,
                        bool& found) {
  const auto text = read_file(path, kind_.max_size, Source::own);
  if (!text) return text.error().code() == Code::not_found ? Result<>() : Result<>(text.error());
  found = true;
  stale_ = true;  // unless it turns out to be of use
  std::string_view rest = *text;
  std::string_view line;
  if (!rest.ends_with('\n') || !host::next_line(rest, line) || !line.starts_with(kind_.header))
    return Error(Code::parse, fmt::format("{}: not {}", path, kind_.what));
  if (line.substr(kind_.header.size()) != place_.boot_id) return {};
  for (std::size_t number = 2; host::next_line(rest, line); ++number)
    if (number - 2 == kind_.max_rows || !take(line))
      return Error(Code::parse, fmt::format("{}:{}: cannot read this {}", path, number, kind_.row));
  stale_ = false;
  return {};
}

Result<> BootFile::save(std::string_view rows) {
  if (place_.path.empty()) return {};
  stale_ = true;  // until it is written
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(place_.path).parent_path(), failed);
  const std::string text = fmt::format("{}{}\n{}", kind_.header, place_.boot_id, rows);
  KOORD_CHECK(replace_file(place_.path, text, {.sync = false}));
  stale_ = false;
  (void)forget_older();
  return {};
}

Result<> BootFile::remove() {
  if (place_.path.empty()) return {};
  if (!forget_older()) return save({});
  std::error_code failed;
  std::filesystem::remove(place_.path, failed);
  stale_ = static_cast<bool>(failed);
  if (failed) return Error(Code::io, fmt::format("{}: {}", place_.path, failed.message()));
  return {};
}

/// Whether no older file is left.
bool BootFile::forget_older() {
  std::erase_if(place_.older, [](const std::string& path) {
    return ::access(path.c_str(), F_OK) != 0 || ::unlink(path.c_str()) == 0;
  });
  return place_.older.empty();
}

std::string_view take_field(std::string_view& row) {
  const auto tab = row.find('\t');
  const std::string_view field = row.substr(0, tab);
  row = tab == std::string_view::npos ? std::string_view{} : row.substr(tab + 1);
  return field;
}

}  // namespace koord::koordlet
