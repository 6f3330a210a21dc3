#include "engine/cluster/script.h"

#include <algorithm>
#include <charconv>
#include <functional>

#include "engine/ssh/connection.h"

namespace phalanx::engine::cluster {

namespace {

// `dirty`: a step since the last service has changed something. What stood in the place of a file of ours is
// kept aside once, and comes back at the end. Files of the administrator are written in place: they may be
// links, or mounted.
constexpr const char* kBegin = R"sh(
umask 022
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin"
state=/etc/slurm/phalanx
mkdir -p "$state" && chmod 700 "$state" || exit 1
dirty=
tab=$(printf '\t')
told() { echo "phalanx-step $1 $2"; [ "$2" = same ] || dirty=yes; }
failed() { tail -n 5 "$state/log" | sed 's/^/phalanx-said /'; echo "phalanx-step $1 failed"; exit 1; }
remember() {
  ! grep -qxF "$1" "$state/files" 2>/dev/null || return 0
  if [ -e "$1" ]; then
    mkdir -p "$state/before" && cp -p "$1" "$state/before/$(echo "$1" | tr / _)" || return 1
  fi
  echo "$1" >>"$state/files"
}
put() {
  if cmp -s "$new" "$2" && [ "$(stat -c '%a %U' "$2")" = "$3 $4" ]; then
    rm -f "$new"; told "$1" same; return
  fi
  { mkdir -p "$(dirname "$2")" && remember "$2" &&
    install -m "$3" -o "$4" -g "$(id -gn "$4")" "$new" "$2" && rm -f "$new"; } >"$state/log" 2>&1 || failed "$1"
  told "$1" changed
}
add() {
  if grep -qxF "$3" "$2" 2>/dev/null; then told "$1" same; return; fi
  {
    if [ -s "$state/lines" ]; then
      while IFS="$tab" read -r file line; do  # another line of ours, of an earlier cluster.yml
        [ "$file" != "$2" ] || { grep -vxF "$line" "$2" >"$state/rest"; cat "$state/rest" >"$2"; }
      done <"$state/lines"
      grep -v "^$2$tab" "$state/lines" >"$state/rest"; cat "$state/rest" >"$state/lines"
    fi
    [ ! -s "$2" ] || [ -z "$(tail -c 1 "$2")" ] || echo >>"$2"
    echo "$3" >>"$2" && printf '%s\t%s\n' "$2" "$3" >>"$state/lines"
  } 2>"$state/log" || failed "$1"
  told "$1" changed
}
new() { new=$(mktemp "$state/new.XXXXXX") && base64 -d >"$new" || exit 1; }
)sh";

constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string base64(std::string_view bytes) {
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    unsigned group = 0;
    for (size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) out += k > bytes.size() - i ? '=' : kDigits[group >> (18 - 6 * k) & 63];
    if ((i / 3) % 19 == 18) out += '\n';
  }
  return out + "\n";
}

std::string script_of(const Step& step, size_t number, const Secrets& secrets) {
  const std::string n = std::to_string(number);
  switch (step.kind) {
    case Step::Kind::file: {
      // The key of munge comes as its host has written it: in base64.
      const bool encoded = step.secret == Step::Secret::munge_key;
      const auto secret = secrets.find(step.secret);
      const std::string text = secret == secrets.end() ? step.text : secret->second;
      return "new <<'phalanx-end'\n" + (encoded ? text + "\n" : base64(text)) + "phalanx-end\nput " + n +
             " " + in_shell(step.path) + " " + step.mode + " " + step.owner + "\n";
    }
    case Step::Kind::line:
      return "add " + n + " " + in_shell(step.path) + " " + in_shell(step.text) + "\n";
    case Step::Kind::command:
      return "if " + std::string(step.settles ? "[ -z \"$dirty\" ] && " : "") + "( " + step.unless +
             " ) </dev/null >/dev/null 2>&1; then told " + n + " same; else ( " + step.run +
             " ) </dev/null >\"$state/log\" 2>&1 || failed " + n + "; told " + n + " changed; fi\n" +
             (step.settles ? "dirty=\n" : "");
  }
  return "";
}

void for_each_line(std::string_view text, const std::function<void(std::string_view)>& use) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    use(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

std::string up_script(const std::vector<Step>& steps, const Secrets& secrets, bool tells_key) {
  std::string text = kBegin;
  for (size_t i = 0; i < steps.size(); ++i) text += script_of(steps[i], i, secrets);
  return text + (tells_key ? "echo \"phalanx-key $(base64 -w 0 /etc/munge/munge.key)\"\n" : "");
}

std::string end_jobs_script() {
  return R"sh(
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin"
[ -d /etc/slurm/phalanx ] && pgrep -x slurmctld >/dev/null || exit 0
jobs=$(squeue -h -o %A 2>/dev/null)
[ -n "$jobs" ] || exit 0
echo "phalanx-canceled $(echo "$jobs" | wc -l)"
scancel --full $jobs
i=0
until [ -z "$(squeue -h -o %A)" ] || [ $i -ge 600 ]; do i=$((i + 1)); sleep 0.1; done
)sh";
}

std::string down_script(const std::string& path) {
  std::string text = R"sh(
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin"
state=/etc/slurm/phalanx
[ -d "$state" ] || { echo "phalanx-nothing yes"; exit 0; }
[ ! -d /run/systemd/system ] || systemctl disable --now slurmd slurmctld munge >/dev/null 2>&1
for program in slurmd slurmctld munged; do
  i=0
  while pkill -x "$program" && [ $i -lt 150 ]; do i=$((i + 1)); sleep 0.1; done
  ! pgrep -x "$program" >/dev/null || { pkill -KILL -x "$program"; echo "phalanx-kept $program did not end and was killed"; }
done
)sh";
  if (!path.empty())
    text += "if grep -q \"^/etc/fstab\" \"$state/lines\" 2>/dev/null && mountpoint -q " + path +
            "; then umount " + path + " >/dev/null 2>&1 || echo \"phalanx-kept " + path +
            " is mounted still: something uses it\"; fi\n";
  text += R"sh(
tab=$(printf '\t')
if [ -s "$state/lines" ]; then
  while IFS="$tab" read -r file line; do
    grep -vxF "$line" "$file" >"$state/rest"
    cat "$state/rest" >"$file"
    [ "$file" != /etc/exports ] || exportfs -ra >/dev/null 2>&1
  done <"$state/lines"
fi
if [ -s "$state/files" ]; then
  while read -r file; do
    before=$state/before/$(echo "$file" | tr / _)
    if [ -e "$before" ]; then cp -p "$before" "$file"; else rm -f "$file"; fi
  done <"$state/files"
fi
rm -rf "$state"
[ ! -d /run/systemd/system ] || systemctl daemon-reload
echo "phalanx-kept the packages; remove them by apt-get remove slurmd slurmctld slurm-client munge"
)sh";
  if (!path.empty())
    text += "! [ -d " + path + " ] || [ -z \"$(ls -A " + path + ")\" ] || echo \"phalanx-kept what is in " +
            path + "\"\n";
  return text + "echo \"phalanx-done yes\"\n";
}

std::string status_script(const std::string& path) {
  std::string text = R"sh(
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin"
is() { name=$1; shift; if ( "$@" ) >/dev/null 2>&1; then echo "phalanx-$name yes"; else echo "phalanx-$name no"; fi; }
credential() { munge -n | unmunge; }
[ ! -d /etc/slurm/phalanx ] || echo "phalanx-made yes"
is munge credential
is slurmctld pgrep -x slurmctld
is slurmd pgrep -x slurmd
[ ! -s /etc/slurm/slurm.conf ] || sinfo -h -N -o 'phalanx-node %N %t %E' 2>/dev/null | sort -u
)sh";
  if (!path.empty()) text += "is mount mountpoint -q " + path + "\nis folder [ -d " + path + " ]\n";
  return text + "echo \"phalanx-done yes\"\n";
}

std::vector<StepResult> parse_results(std::string_view output, size_t steps) {
  constexpr std::string_view kStep = "phalanx-step ", kSaid = "phalanx-said ";
  std::vector<StepResult> results(steps);
  std::string said;
  for_each_line(output, [&](std::string_view line) {
    if (line.starts_with(kSaid)) said += std::string(line.substr(kSaid.size())) + "\n";
    if (!line.starts_with(kStep)) return;
    line.remove_prefix(kStep.size());
    size_t number = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (error != std::errc() || number >= steps) return;
    const std::string_view word = line.substr(static_cast<size_t>(end - line.data()));
    StepResult& result = results[number];
    if (word == " same") result.is = StepResult::Is::same;
    if (word == " changed") result.is = StepResult::Is::changed;
    if (word == " failed") result = {StepResult::Is::failed, said};
  });
  return results;
}

std::vector<std::string> told(std::string_view output, std::string_view key) {
  const std::string mark = "phalanx-" + std::string(key) + " ";
  std::vector<std::string> out;
  for_each_line(output, [&](std::string_view line) {
    if (line.starts_with(mark)) out.emplace_back(line.substr(mark.size()));
  });
  return out;
}

}  // namespace phalanx::engine::cluster
