package git

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A frozen is git's configuration as one process of git has read it: what a repository, its user and
// the system configure. Every other git reads it from files that only Bossman writes, and reads
// no other configuration, whatever happens to the files of the repository meanwhile.
type frozen struct {
	lines []line
	// view is a directory that stands in for the common git directory. Its configuration names no
	// program that the repository has; those that were accepted, git gets with a call.
	view string
	// loose is a file that configures something and that lies where an agent may write, empty if
	// there is none.
	loose string
	at    time.Time
}

// A line is a setting, and whose it is.
type line struct {
	setting
	own   bool // it is the repository's, or lies where an agent may write
	empty bool // it is a name without a value, which counts as true
}

// freeze reads the configuration.
func (r *Repo) freeze(ctx context.Context) (*frozen, error) {
	if err := r.usable(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, maxRead)
	defer cancel()
	f := &frozen{at: time.Now()}
	out, err := r.start(ctx, call{args: []string{"config", "--list", "--show-scope", "--show-origin", "--null"}}, r.environment())
	if err != nil {
		return nil, err
	}
	writable := r.writableByAgents()
	fields := strings.Split(out, "\x00")
	for i := 0; i+2 < len(fields); i += 3 { // the scope, the file, then key and value
		scope, file := fields[i], strings.TrimPrefix(fields[i+1], "file:")
		if scope == "command" {
			continue
		}
		key, value, ok := strings.Cut(fields[i+2], "\n")
		if !ok {
			value = "true"
		}
		own := scope != "global" && scope != "system"
		if writable(file) {
			f.loose, own = file, true
		}
		if err := checkExtension(file, key, value); own && err != nil {
			return nil, err
		}
		f.lines = append(f.lines, line{setting{key, value}, own, !ok})
	}
	if f.view, err = r.makeView(f); err != nil {
		return nil, err
	}
	r.last.Store(f)
	return f, nil
}

// now returns a configuration that is good for the calls of one operation that run nothing.
func (r *Repo) now(ctx context.Context) (*frozen, error) {
	if f := r.last.Load(); f != nil && time.Since(f.at) < lookAgain {
		return f, nil
	}
	return r.freeze(ctx)
}

// writableByAgents returns a function that reports whether a configuration file lies in a worktree of
// the repository or in a directory for temporary files, or is reached through one. What the user has
// there is the user's all the same.
func (r *Repo) writableByAgents() func(file string) bool {
	trees, own := r.places()
	trees = append(trees, temporary(r.Common)...)
	known := map[string]bool{}
	for _, file := range userConfigs() {
		known[file] = false
	}
	return func(file string) bool {
		is, ok := known[file]
		if !ok {
			is = passes(file, trees, own)
			known[file] = is
		}
		return is
	}
}

// left reports whether a setting is not in the configuration of a view: it would have git read other
// files, is about the real directory, or names a program that nobody has accepted.
func (l line) left() bool {
	switch l.key {
	case "core.worktree", "core.bare", "extensions.worktreeconfig", "core.alternaterefscommand":
		return true
	}
	return includes(l.key) || strings.HasPrefix(l.key, "hook.") ||
		l.own && (strings.HasPrefix(l.key, "filter.") || merges(l.key) || signer(l.key) || connects(l.key) || reaches(l.key, l.value))
}

// text returns the settings of the repository, or those of the others, as a configuration file.
func (f *frozen) text(own bool) string {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	var text strings.Builder
	for _, l := range f.lines {
		first, last := strings.IndexByte(l.key, '.'), strings.LastIndexByte(l.key, '.')
		if l.own != own || first < 0 || l.left() {
			continue
		}
		text.WriteString("[" + l.key[:first])
		if last > first {
			text.WriteString(` "` + quote.Replace(l.key[first+1:last]) + `"`)
		}
		text.WriteString("]\n\t" + l.key[last+1:])
		if !l.empty {
			text.WriteString(` = "` + quote.Replace(l.value) + `"`)
		}
		text.WriteByte('\n')
	}
	return text.String()
}

// linkedAlways are files and directories of a git directory that git or a filter may make.
var linkedAlways = []string{"HEAD", "annex", "lfs", "logs", "packed-refs", "shallow"}

// makeView makes the directory that stands in for the common git directory, if it is not there: its
// directories as symbolic links, and a configuration that stays as it is.
func (r *Repo) makeView(f *frozen) (string, error) {
	entries, err := os.ReadDir(r.Common)
	if err != nil {
		return "", err
	}
	names := slices.Clone(linkedAlways)
	for _, e := range entries {
		if name := e.Name(); !e.Type().IsRegular() && name != "config" && !strings.HasPrefix(name, "bossman") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	own, others := f.text(true), f.text(false)
	sum := sha256.Sum256([]byte(strings.Join(append(names, r.Common, own, others), "\x00")))
	all, err := privateDir()
	if err != nil {
		return "", err
	}
	view := filepath.Join(all, fmt.Sprintf("%s%x", views, sum[:16]))
	if info, err := os.Lstat(view); err == nil {
		if time.Since(info.ModTime()) > maxViewAge/7 {
			err = os.Chtimes(view, time.Time{}, time.Now())
		}
		return view, err
	}
	removeViews(all)
	made, err := os.MkdirTemp(all, newView)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(made)
	for name, text := range map[string]string{"config": own, userConfig: others} {
		if err := os.WriteFile(filepath.Join(made, name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	for _, name := range names {
		if err := os.Symlink(filepath.Join(r.Common, name), filepath.Join(made, name)); err != nil {
			return "", err
		}
	}
	if err := os.Rename(made, view); err != nil && !errors.Is(err, fs.ErrExist) { // another process was first
		return "", err
	}
	return view, nil
}

const (
	// userConfig is the file of a view with the configuration of the user and of the system.
	userConfig = "bossman-user"
	// views begins the names of views, and newView those of views that are being made.
	views, newView = "view-", "new-view-"
	// maxViewAge is how long a view stays that nobody uses.
	maxViewAge = 7 * 24 * time.Hour
)

// removeViews removes the views that nobody uses, and those of repositories that are gone.
func removeViews(all string) {
	removeOld(all, newView, time.Now().Add(-maxViewAge))
	removeOld(all, views, time.Now().Add(-maxViewAge))
	links, _ := filepath.Glob(filepath.Join(globQuote(all), views+"*", "objects"))
	for _, link := range links {
		if _, err := os.Stat(link); errors.Is(err, fs.ErrNotExist) {
			_ = os.RemoveAll(filepath.Dir(link))
		}
	}
}

// env returns the variables with which git uses the view and no other configuration.
func (f *frozen) env() []string {
	return []string{"GIT_COMMON_DIR=" + f.view, "GIT_CONFIG_GLOBAL=" + filepath.Join(f.view, userConfig), "GIT_CONFIG_NOSYSTEM=1"}
}

// given returns settings of the repository that a view does not have.
func (f *frozen) given(is func(key, value string) bool) (set settings) {
	for _, l := range f.lines {
		if l.own && is(l.key, l.value) {
			set = append(set, l.setting)
		}
	}
	return set
}

// privateDir returns a directory for files that decide what git runs: one in that for the state of the
// user's programs, where agents in a sandbox cannot write. If this process cannot write there, it is
// most likely in such a sandbox itself, and uses one among temporary files.
func privateDir() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if home, err := os.UserHomeDir(); !filepath.IsAbs(dir) && err == nil {
		dir = filepath.Join(home, ".local", "state")
	}
	if filepath.IsAbs(dir) {
		dir = filepath.Join(dir, "bossman", "git")
		if err := cmp.Or(os.MkdirAll(filepath.Dir(dir), 0o700), OwnDir(filepath.Dir(dir)), OwnDir(dir)); err == nil && canWrite(dir) {
			return dir, nil
		}
	}
	return temporaryDir()
}

var temporaryDir = sync.OnceValues(func() (string, error) {
	const prefix = "bossman-git-"
	removeOld(os.TempDir(), prefix, time.Now().Add(-maxViewAge))
	return os.MkdirTemp("", prefix)
})
