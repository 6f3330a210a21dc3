// result.h - a value, or the reason there is none.
//
// The callee gives only the reason; the caller, who knows what it was doing, adds that with context().
// A failed call has changed nothing unless its header says otherwise. No exceptions cross a part's border.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <variant>

namespace phalanx {

enum class Code {
  invalid,      // what the user asked for makes no sense: the message says where and what would be right
  not_found,    // a named thing is not there
  denied,       // the operating system refused
  unavailable,  // right, but not now or not here
  timeout,
  internal,  // the rest
};

struct Error {
  Code code = Code::internal;
  std::string reason;

  Error context(const std::string& doing) && { return {code, doing + ": " + std::move(reason)}; }
};

// Error from errno (or `number`), "doing: strerror". ENOENT is not_found, EACCES and EPERM are denied.
Error errno_error(const std::string& doing, int number = -1);

template <class T>
class [[nodiscard]] Result {
 public:
  using Value = T;
  Result(T value) : value_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : value_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return value_.index() == 0; }
  T& operator*() & { return std::get<0>(value_); }
  const T& operator*() const& { return std::get<0>(value_); }
  T operator*() && { return std::get<0>(std::move(value_)); }
  T* operator->() { return &std::get<0>(value_); }
  const T* operator->() const { return &std::get<0>(value_); }
  const Error& error() const& { return std::get<1>(value_); }
  Error error() && { return std::get<1>(std::move(value_)); }
  T value_or(T other) const { return *this ? **this : std::move(other); }

 private:
  std::variant<T, Error> value_;
};

struct Done {};
using Status = Result<Done>;

// TRY(expression): its value, or return its Error from this function. (Each use has a name of its own, so
// they nest.)
#define TRY_JOIN2(a, b) a##b
#define TRY_JOIN(a, b) TRY_JOIN2(a, b)
#define TRY_AS(result, expression)                 \
  ({                                               \
    auto result = (expression);                    \
    if (!result) return std::move(result).error(); \
    *std::move(result);                            \
  })
#define TRY(expression) TRY_AS(TRY_JOIN(try_result_, __COUNTER__), expression)

// CHECK(condition): a broken invariant of our own code ends the process at once.
#define CHECK(condition)                                                                            \
  do {                                                                                              \
    if (!(condition)) {                                                                             \
      std::fprintf(stderr, "phalanx: internal error: %s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                                 \
    }                                                                                               \
  } while (false)

}  // namespace phalanx
