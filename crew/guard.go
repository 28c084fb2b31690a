package crew

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// The guard keeps agents from moving the target of a project by accident: git calls hooks of ours in
// their repository, which call the user's. Agents run as the user, so it holds nobody up who means it;
// the lander reports what it has not landed itself.

const (
	guardDir  = "hooks"
	guardFile = "guard.conf"
	// maxHooks is how many hooks a user may have.
	maxHooks = 100
)

// guard writes the hooks of a job to its desk, and returns the environment with which git calls them in
// this repository, and in no other one.
func (j *job) guard(ctx context.Context, desk *os.Root) ([]string, error) {
	target := j.r.o.Target
	common, err := filepath.EvalSymlinks(j.tree.Common)
	if target.Branch == "" || err != nil || strings.ContainsAny(common+desk.Name(), "\n\"") {
		return nil, err
	}
	own, err := j.tree.HooksDir(ctx)
	if err != nil {
		return nil, err
	}
	hooks := userHooks(own)
	name, script := "reference-transaction", refuseUpdate(target, hooks["reference-transaction"])
	if target.Kind != board.TargetLocal {
		name, script = "pre-push", refusePush(target, hooks["pre-push"])
	}
	if err := desk.Mkdir(guardDir, 0o700); err != nil {
		return nil, err
	}
	for hook, path := range hooks {
		text := "#!/bin/sh\nexec " + visible.ShellWord(path) + " \"$@\"\n"
		if hook != name {
			if err := writeNew(desk, filepath.Join(guardDir, hook), text, 0o700); err != nil {
				return nil, err
			}
		}
	}
	dir := filepath.ToSlash(filepath.Join(desk.Name(), guardDir))
	if err := writeNew(desk, filepath.Join(guardDir, name), script, 0o700); err != nil {
		return nil, err
	}
	if err := writeNew(desk, guardFile, fmt.Sprintf("[core]\n\thooksPath = %q\n", dir), 0o600); err != nil {
		return nil, err
	}
	pattern := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(filepath.ToSlash(common))
	return gitSetting(j.r.o.Environ, "includeIf.gitdir:"+pattern+"/.path", filepath.Join(desk.Name(), guardFile)), nil
}

// gitSetting returns variables that add a setting to those for git in an environment.
func gitSetting(env []string, key, value string) []string {
	n := 0
	for _, v := range env {
		if count, ok := strings.CutPrefix(v, "GIT_CONFIG_COUNT="); ok {
			n, _ = strconv.Atoi(count)
		}
	}
	n = max(n, 0)
	return []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", n+1), fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, value)}
}

// userHooks are the hooks in a directory, by name.
func userHooks(dir string) map[string]string {
	hooks := map[string]string{}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries[:min(len(entries), maxHooks)] {
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path)
		word := strings.Trim(e.Name(), "abcdefghijklmnopqrstuvwxyz-") == ""
		if err == nil && word && info.Mode().IsRegular() && (info.Mode()&0o111 != 0 || filepath.Separator == '\\') {
			hooks[e.Name()] = filepath.ToSlash(path)
		}
	}
	return hooks
}

// refuseUpdate is a hook that refuses to move a branch. next is the user's, or empty.
func refuseUpdate(target board.Target, next string) string {
	return `#!/bin/sh
lines=$(cat)
if [ "$1" = prepared ]; then
	while read -r old new ref; do
		if [ "$ref" = ` + visible.ShellWord("refs/heads/"+target.Branch) + ` ] && [ "$old" != "$new" ]; then
			echo ` + visible.ShellWord(refusal(target)) + ` >&2
			exit 1
		fi
	done <<LINES
$lines
LINES
fi
` + chain(next)
}

// refusePush is a hook that refuses to push to a branch of a remote repository.
func refusePush(target board.Target, next string) string {
	remote := visible.ShellWord(target.Remote)
	return `#!/bin/sh
lines=$(cat)
if [ "$1" = ` + remote + ` ] || [ "$2" = "$(git remote get-url --push ` + remote + ` 2>/dev/null)" ]; then
	while read -r from commit ref old; do
		if [ "$ref" = ` + visible.ShellWord("refs/heads/"+target.Branch) + ` ]; then
			echo ` + visible.ShellWord(refusal(target)) + ` >&2
			exit 1
		fi
	done <<LINES
$lines
LINES
fi
` + chain(next)
}

// refusal tells an agent what to do instead.
func refusal(target board.Target) string {
	return fmt.Sprintf("bossman: work reaches %s by landing only: commit on your own branch, and report the task done", target)
}

// chain is the end of a hook: the user's hook, if there is one.
func chain(next string) string {
	if next == "" {
		return "exit 0\n"
	}
	return "[ -z \"$lines\" ] && exec " + visible.ShellWord(next) + " \"$@\" </dev/null\nprintf '%s\\n' \"$lines\" | " + visible.ShellWord(next) + " \"$@\"\n"
}

// writeNew writes a file of a desk that is not there yet.
func writeNew(desk *os.Root, name, text string, mode fs.FileMode) error {
	f, err := desk.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return cmp.Or(err, f.Close())
}
