// How a Reservation says that it was made for a PodMigrationJob, and not by a user.
#pragma once

#include <string_view>

namespace koord::descheduler::migration {

inline constexpr std::string_view kCreatedByLabel = "app.kubernetes.io/created-by";
inline constexpr std::string_view kCreator = "koord-descheduler";

}  // namespace koord::descheduler::migration
