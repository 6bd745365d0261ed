#include "koord/base/version.hpp"

namespace koord {
namespace {

constexpr std::string_view kVersion = "v" KOORD_VERSION;
constexpr std::size_t kMajorEnd = kVersion.find('.');
static_assert(kMajorEnd != std::string_view::npos);
constexpr std::string_view kBehind = kVersion.substr(kMajorEnd + 1);

#if defined(__x86_64__)
constexpr std::string_view kPlatform = "linux/amd64";
#elif defined(__aarch64__)
constexpr std::string_view kPlatform = "linux/arm64";
#else
constexpr std::string_view kPlatform = "linux";
#endif

constexpr BuildInfo kInfo{.major = kVersion.substr(1, kMajorEnd - 1),
                          .minor = kBehind.substr(0, kBehind.find('.')),
                          .version = kVersion,
                          .compiler = __VERSION__,
                          .platform = kPlatform};

}  // namespace

const BuildInfo& build_info() { return kInfo; }

}  // namespace koord
