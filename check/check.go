package check

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// DefaultTimeout is how long a check may take if Timeout is zero.
const DefaultTimeout = 15 * time.Minute

// A Check is a command that judges a worktree by its exit status.
type Check struct {
	// Name is the kind of evidence that a green run is.
	Name string
	// Command is the program and its arguments.
	Command []string
	// Wrap is put in front of the command, such as a sandbox.
	Wrap []string
	// Timeout is DefaultTimeout if zero.
	Timeout time.Duration
	// Env names further variables that the command gets.
	Env []string
	// Filters reports whether a filter of the repository's own configuration may run, as
	// git.Repo.Filters lists them; nil accepts none.
	Filters func(filter string) bool
	// Here: what the command has said of the same content in another worktree does not count. Files that git ignores
	// may differ.
	Here bool
	// Again: the command runs even if the content was found green before, as one that prepares files that git ignores.
	Again bool
	// Adds: new files that git does not have may come while the command runs. Nobody else writes in the worktree, so they are the
	// command's, and no part of what is judged.
	Adds bool

	// written are files that earlier runs have made: they are not looked at, unless somebody has added them.
	written map[string]bool
}

// Shell is the command that runs a line in a shell.
func Shell(line string) []string { return []string{"sh", "-c", line} }

// String is the command as a person would type it.
func (c *Check) String() string {
	if len(c.Command) == 3 && c.Command[0] == "sh" && c.Command[1] == "-c" && len(c.Wrap) == 0 {
		return c.Command[2]
	}
	words := slices.Concat(c.Wrap, c.Command)
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n\"'\\$`*?[]{}();<>|&~#!") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// key identifies what is run: two checks with the same key judge alike.
func (c *Check) key() string {
	sum := sha256.New()
	for _, part := range [][]string{c.Wrap, c.Command, c.Env} {
		for _, s := range part {
			fmt.Fprintf(sum, "%d:%s", len(s), s)
		}
		fmt.Fprint(sum, ";")
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// A Result is what a run of a check says about a tree.
type Result string

const (
	// Green: the command exited with status 0.
	Green Result = "green"
	// Waived: a person has accepted the work without the check.
	Waived Result = "waived"
	// Red: it exited with a status from 1 to 124.
	Red Result = "red"
	// NotJudged: it could not run, or did not finish: it was not found, was
	// killed, took too long, or the disk was full. That says nothing about the work.
	NotJudged Result = "not_judged"
	// Changed: files changed while it ran, so that it is not known what was judged.
	Changed Result = "changed"
	// Stopped: the caller ended the run, or started another check; or the worker has to do
	// something before it can run.
	Stopped Result = "stopped"
)

// A Verdict is the outcome of one run.
type Verdict struct {
	Result Result
	// Tree is the tree that was judged.
	Tree string
	// Base is the commit that was checked out.
	Base string
	// Exit is the exit status, -1 if there is none.
	Exit int
	// Why says in a few words why there is no judgement.
	Why string
	// Late is set if it was stopped because it had not begun in time, behind other checks.
	Late bool
	// Paths are the files that changed while the check ran, at most ten.
	Paths []string
	// Tail is the last part of the output.
	Tail string
	Took time.Duration
	// Flaky is set for a green run of a tree that was red before.
	Flaky bool
	// Before says for what and when the tree was judged, if that was for another claim: then the
	// command was not run again.
	Before string

	claim string // that it was judged for, and when
	at    time.Time
}

// passed are the variables that a check gets from its caller, besides those that the
// check itself names: what programs need to find themselves and their caches. A name
// that ends in * is a prefix.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TMPDIR", "TERM", "XDG_*", "SSL_CERT_*",
	"GOPATH", "GOROOT", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GOPRIVATE", "GONOSUMDB", "GONOSUMCHECK", "GOSUMDB", "GOTOOLCHAIN", "GOENV",
	"CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "JAVA_HOME", "GRADLE_USER_HOME", "M2_HOME", "MAVEN_OPTS",
	"NODE_PATH", "NVM_DIR", "NPM_CONFIG_PREFIX", "PNPM_HOME", "COREPACK_HOME", "PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT",
	"GEM_HOME", "GEM_PATH", "RBENV_ROOT", "BUNDLE_PATH", "DOTNET_ROOT", "NUGET_PACKAGES", "CC", "CXX", "PKG_CONFIG_PATH", "LD_LIBRARY_PATH",
	"SYSTEMROOT", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "USERPROFILE", "TEMP", "TMP",
}

// environment is what the command gets.
func (c *Check) environment() []string {
	env := []string{"BOSSMAN_CHECK=" + c.Name, "GIT_OPTIONAL_LOCKS=0"}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if slices.ContainsFunc(passed, func(p string) bool {
			prefix, ok := strings.CutSuffix(p, "*")
			return name == p || ok && strings.HasPrefix(name, prefix)
		}) || slices.Contains(c.Env, name) {
			env = append(env, v)
		}
	}
	return env
}
