// What a process knows before it has a session: its place in the job, and the variables that steer sessions.
#pragma once
#include <string>

namespace tutti {

/// This process's rank as its launcher tells it; 0 if none does. Local; for messages before there is a session.
int launched_rank();

/// For a mistake that every rank finds and rank 0 tells: returns at once there, elsewhere after a second. A launcher
/// ends the job as soon as one process leaves with a failure, which would cut rank 0 short.
void let_rank_0_speak();

/// The most threads that run one call of a rank.
inline constexpr int kMostThreads = 4;
/// TUTTI_THREADS, or 0 if it is not set. Throws ErrorCode::invalid_argument if it makes no sense.
int threads_asked_for();

/// Why a session cannot be with what TUTTI_BACKEND, TUTTI_TIMEOUT, TUTTI_THREADS and TUTTI_DEVICE hold here: one line
/// that says what to do; empty if it may. Local, starts nothing, never throws.
std::string environment_fault();

/// Why sessions of the native backend run on the CPU here, in a few words: no CUDA in this build, no driver, or what
/// TUTTI_DEVICE says. For a process whose session is not on a GPU. Local, starts nothing, never throws.
std::string why_on_cpu();

}  // namespace tutti
