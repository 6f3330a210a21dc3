#include "spec/hpc_words.h"

#include <cctype>
#include <charconv>
#include <utility>

namespace phalanx::spec {
namespace {

constexpr const char* kJobRecords[] = {
    // clang-format off
    "Version", "Id", "State", "PreviousState", "UserName", "Owner", "OwnerId", "ClientSource",
    "ClientSourceId", "ClientSubSource", "SubmitTime", "CreateTime", "StartTime", "EndTime", "ChangeTime",
    "TaskLevelUpdateTime", "MinMaxUpdateTime", "WaitTime", "JobType", "RequestCancel", "IsBackfill",
    "NextTaskNiceID", "NextTaskNiceId", "HasGrown", "HasShrunk", "CanGrow", "CanShrink", "Preemptable",
    "ErrorCode", "ErrorParams", "ErrorMessage", "FailureReason", "PendingReason", "RequeueCount",
    "AutoRequeueCount", "ComputedMinCores", "ComputedMaxCores", "ComputedMinSockets", "ComputedMaxSockets",
    "ComputedMinNodes", "ComputedMaxNodes", "ComputedNodeList", "ParentJobId", "ChildJobId", "ProjectId",
    "JobTemplateId", "DefaultTaskGroupId", "ProcessIds", "NumberOfCalls", "NumberOfOutstandingCalls",
    "CallDuration", "CallsPerSecond", "EndpointReference", "Progress", "ProgressMessage", "AllocatedNodes",
    "MinCores", "MaxCores", "MinSockets", "MaxSockets", "MinNodes", "MaxNodes", "MinGpus", "MaxGpus",
    "NodeGroupOp", "TargetResourceCount", "PlannedCoreCount",
};  // clang-format on

constexpr const char* kTaskRecords[] = {
    // clang-format off
    "Version", "Id", "NiceId", "ParentJobId", "ParentJobState", "State", "PreviousState", "InstanceId",
    "InstanceValue", "UnitType", "GroupId", "RecordId", "ErrorCode", "ErrorParams", "ErrorMessage",
    "ExitCode", "Output", "RequestCancel", "Closed", "RequeueCount", "AutoRequeueCount", "FailureReason",
    "PendingReason", "SubmitTime", "CreateTime", "StartTime", "EndTime", "ChangeTime", "TaskOwner",
    "ProcessIds", "ParametricRunningCount", "ParametricCanceledCount", "ParametricFailedCount",
    "ParametricQueuedCount", "HasCustomProps", "IsRerunnable", "MinCores", "MaxCores", "MinSockets",
    "MaxSockets", "MinNodes", "MaxNodes", "MinGpus", "MaxGpus", "AllocatedCoreIds", "AllocatedNodes",
    "StartValue", "EndValue", "IncrementValue", "HasRuntime",
};  // clang-format on

}  // namespace

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool asks_for_nothing(const std::string& value) {
  const std::string word = lower(value);
  return word.empty() || word == "false" || word == "0" || word == "none" || word == "any" ||
         word == "infinite" || word == "default";
}

std::span<const char* const> job_records() { return kJobRecords; }

std::span<const char* const> task_records() { return kTaskRecords; }

std::optional<int> priority_of(const std::string& words) {
  constexpr std::pair<const char*, int> kNames[] = {
      {"lowest", 0}, {"belownormal", 1000}, {"normal", 2000}, {"abovenormal", 3000}, {"highest", 4000}};
  const size_t end = std::min(words.find_first_of("+-"), words.size());
  const std::string name = lower(words.substr(0, end));
  std::string number = words.substr(end);
  int base = 0, offset = 0;
  if (!name.empty() && name.find_first_not_of("0123456789") == name.npos) {
    number = words;
  } else {
    bool known = false;
    for (const auto& [word, value] : kNames)
      if (name == word) base = value, known = true;
    if (!known) return std::nullopt;
  }
  if (!number.empty()) {
    if (number[0] == '+') number.erase(0, 1);
    const auto [at, error] = std::from_chars(number.data(), number.data() + number.size(), offset);
    if (error != std::errc() || at != number.data() + number.size()) return std::nullopt;
  }
  const int64_t sum = int64_t{base} + offset;
  if (sum < 0 || sum > 4000) return std::nullopt;
  return static_cast<int>((sum - 2000) / 2);
}

}  // namespace phalanx::spec
