// What a test executable needs and this machine may lack; Catch's main asks before it runs anything.
#pragma once

/// Why nothing of this executable can run here, or nullptr. Each kind of test executable links its own
/// answer.
const char* missing_need();
