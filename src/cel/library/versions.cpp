// semver(...): versions as semver.org orders them, read as blang/semver reads them.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "cel/library/tables.hpp"
#include "cel/values/kubernetes_values.hpp"
#include "cel/values/representation.hpp"
#include "koord/base/result.hpp"

namespace koord::cel {
namespace {

using Args = std::span<const Value>;

Error invalid(std::string message) { return Error(koord::Code::invalid, std::move(message)); }
bool digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}
bool words(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}
bool padded(std::string_view text) { return text.size() > 1 && text[0] == '0'; }

Result<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec == std::errc::result_out_of_range)
    return invalid(fmt::format("strconv.ParseUint: parsing {}: value out of range", go_quoted(text)));
  if (text.empty()) return invalid("strconv.ParseUint: parsing \"\": invalid syntax");
  return value;
}

Result<std::uint64_t> part(std::string_view text, std::string_view name) {
  if (!digits(text))
    return invalid(fmt::format("Invalid character(s) found in {} number {}", name, go_quoted(text)));
  if (padded(text)) {
    std::string title(name);
    title[0] = static_cast<char>(title[0] - 32);
    return invalid(fmt::format("{} number must not contain leading zeroes {}", title, go_quoted(text)));
  }
  return number(text);
}

Result<void> check_identifiers(std::string_view text, bool pre_release) {
  while (true) {
    const std::string_view word = text.substr(0, text.find('.'));
    if (word.empty()) return invalid(pre_release ? "Prerelease is empty" : "Build meta data is empty");
    if (!words(word))
      return invalid(fmt::format("Invalid character(s) found in {} {}",
                                 pre_release ? "prerelease" : "build meta data", go_quoted(word)));
    if (pre_release && digits(word)) {
      if (padded(word))
        return invalid(
            fmt::format("Numeric PreRelease version must not contain leading zeroes {}", go_quoted(word)));
      if (const auto value = number(word); !value) return value.error();
    }
    if (word.size() == text.size()) return {};
    text.remove_prefix(word.size() + 1);
  }
}

Result<Semver> parse(std::string_view text) {
  if (text.empty()) return invalid("Version string empty");
  const std::size_t first = text.find('.'),
                    second = first == std::string_view::npos ? first : text.find('.', first + 1);
  if (second == std::string_view::npos) return invalid("No Major.Minor.Patch elements found");
  Semver version{};
  version.text = text;
  KOORD_TRY(major, part(text.substr(0, first), "major"));
  KOORD_TRY(minor, part(text.substr(first + 1, second - first - 1), "minor"));
  std::string_view rest = text.substr(second + 1);
  const std::size_t plus = rest.find('+');
  const bool builds = plus != std::string_view::npos;
  if (builds) {
    version.build = rest.substr(plus + 1);
    rest = rest.substr(0, plus);
  }
  const std::size_t dash = rest.find('-');
  const bool pre = dash != std::string_view::npos;
  if (pre) {
    version.pre_release = rest.substr(dash + 1);
    rest = rest.substr(0, dash);
  }
  KOORD_TRY(patch, part(rest, "patch"));
  if (pre) KOORD_CHECK(check_identifiers(version.pre_release, true));
  if (builds) KOORD_CHECK(check_identifiers(version.build, false));
  version.major = major;
  version.minor = minor;
  version.patch = patch;
  return version;
}

/// What people write for versions: "v1.2", "01.02.03".
Result<std::string> normalized(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  std::string parts[3];
  std::size_t count = 0;
  while (true) {
    const std::size_t end = count == 2 ? std::string_view::npos : text.find('.');
    parts[count++] = text.substr(0, end);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (parts[i].size() <= 1) continue;
    std::string trimmed = parts[i].substr(std::min(parts[i].find_first_not_of('0'), parts[i].size()));
    if (trimmed.empty() || !digits(trimmed.substr(0, 1))) trimmed = '0' + trimmed;
    parts[i] = std::move(trimmed);
  }
  if (count < 3 && parts[count - 1].find_first_of("+-") != std::string::npos)
    return invalid("short version cannot contain PreRelease/Build meta data");
  for (; count < 3; ++count) parts[count] = "0";
  return fmt::format("{}.{}.{}", parts[0], parts[1], parts[2]);
}

Value version_of(std::string_view text, bool normalizes, Memory& memory) {
  Value kept = Value::string(text);
  if (normalizes) {
    const auto better = normalized(text);
    if (!better) return fail(memory, better.error().message());
    kept = copy_string(*better, memory);
    if (kept.is_error()) return kept;
  }
  const auto version = parse(kept.text());
  if (!version) return fail(memory, version.error().message());
  auto* made = memory.make<Semver>();
  if (!made) return out_of_memory();
  new (made) Semver(*version);
  return Value::make(Kind::semver, Value::Form::owned, 0, made);
}

Value make(Args args, Memory& memory) {
  return version_of(args[0].text(), args.size() == 2 && args[1].is_true(), memory);
}
Value is_semver(Args args, Memory& memory) { return Value::boolean(!make(args, memory).is_error()); }
int compared(Args args) { return compare_versions(semver_of(args[0]), semver_of(args[1])); }
Value greater(Args args, Memory&) { return Value::boolean(compared(args) > 0); }
Value less(Args args, Memory&) { return Value::boolean(compared(args) < 0); }
Value compare(Args args, Memory&) { return Value::integer(compared(args)); }
Value major(Args args, Memory&) {
  return Value::integer(static_cast<std::int64_t>(semver_of(args[0]).major));
}
Value minor(Args args, Memory&) {
  return Value::integer(static_cast<std::int64_t>(semver_of(args[0]).minor));
}
Value patch(Args args, Memory&) {
  return Value::integer(static_cast<std::int64_t>(semver_of(args[0]).patch));
}

}  // namespace

Value Value::semver(std::string_view text, Memory& memory) { return version_of(text, false, memory); }

std::span<const Declaration> semver_table() {
  static constexpr Declaration kRows[] = {
      {"semver", "string_to_semver", "(string) -> semver", make},
      {"semver", "string_bool_to_semver", "(string, bool) -> semver", make},
      {"isSemver", "is_semver_string", "(string) -> bool", is_semver},
      {"isSemver", "is_semver_string_bool", "(string, bool) -> bool", is_semver},
      {"isGreaterThan", "semver_is_greater_than", "semver.(semver) -> bool", greater},
      {"isLessThan", "semver_is_less_than", "semver.(semver) -> bool", less},
      {"compareTo", "semver_compare_to", "semver.(semver) -> int", compare},
      {"major", "semver_major", "semver.() -> int", major},
      {"minor", "semver_minor", "semver.() -> int", minor},
      {"patch", "semver_patch", "semver.() -> int", patch},
  };
  return kRows;
}

}  // namespace koord::cel
