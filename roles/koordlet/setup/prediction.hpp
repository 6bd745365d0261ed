// Prediction: what the flags say of it, and where what is learned is kept.
#pragma once

#include <string>

#include "framework/keep/state_dirs.hpp"
#include "framework/predict/predictor.hpp"
#include "koord/runtime/flags.hpp"

namespace koord::koordlet {

/// Code::invalid names the flag.
Result<PredictorSettings> read_prediction(const runtime::FlagValues& flags);

/// --prediction-checkpoint-filepath where that folder is there, as the original has it; else one beside what
/// was measured, which is made. With a slash at its end; empty: there is none.
std::string find_predictions(const runtime::FlagValues& flags, const StateDirs& dirs);

}  // namespace koord::koordlet
