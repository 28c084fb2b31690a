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
	// cut are the commits at which the clone's history ends though they have parents, and shallow is a file
	// with their names, empty if there are none.
	cut     map[string]bool
	shallow string

	at    time.Time
	files map[string]fs.FileInfo // what it came from, nil for what is not there
	names []string               // what the view has of the common git directory
}

// A line is a setting, and whose it is.
type line struct {
	setting
	own   bool // it is the repository's, or lies where an agent may write
	empty bool // it is a name without a value, which counts as true
}

// freeze returns the configuration. It reads it if that was not done for the calls before, or if a file
// that it came from has changed since.
func (r *Repo) freeze(ctx context.Context) (*frozen, error) {
	if err := r.usable(); err != nil {
		return nil, err
	}
	names, err := r.linkedNames()
	if err != nil {
		return nil, err
	}
	if f := r.last.Load(); f != nil && f.recent() && slices.Equal(f.names, names) && f.unchanged() {
		return f, nil
	}
	limited, cancel := context.WithTimeout(ctx, maxRead)
	defer cancel()
	f := &frozen{at: time.Now(), files: map[string]fs.FileInfo{}, names: names}
	f.note(filepath.Join(r.Dir, "HEAD")) // an include may depend on the branch
	f.note(filepath.Join(r.Common, "shallow"))
	f.note(r.configs()...)
	f.note(userConfigs()...)
	f.note(r.readings()...)
	out, err := r.start(limited, call{args: []string{"config", "--list", "--show-scope", "--show-origin", "--null"}}, r.environment())
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
		f.note(file)
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
	if f.cut, err = r.cuts(ctx, f); err == nil {
		f.shallow, err = f.cutFile(f.cut)
	}
	if err != nil {
		return nil, err
	}
	r.last.Store(f)
	return f, nil
}

// now returns a configuration that is good for the calls of one operation that run nothing.
func (r *Repo) now(ctx context.Context) (*frozen, error) {
	if f := r.last.Load(); f != nil && f.recent() {
		return f, nil
	}
	return r.freeze(ctx)
}

// recent reports whether the configuration was read for the calls that precede.
func (f *frozen) recent() bool { return time.Since(f.at) < lookAgain }

// note notes what is at some paths, unless that was noted before.
func (f *frozen) note(paths ...string) {
	for _, path := range paths {
		if _, ok := f.files[path]; !ok {
			f.files[path], _ = os.Stat(path)
		}
	}
}

// tick is more than file systems take for one moment.
const tick = 50 * time.Millisecond

// unchanged reports whether nobody has written what the configuration came from since it was read.
func (f *frozen) unchanged() bool {
	for path, was := range f.files {
		is, err := os.Stat(path)
		if err != nil || was == nil {
			if err == nil || was != nil {
				return false
			}
			continue
		}
		before, _ := changeOf(was)
		after, _ := changeOf(is)
		if !os.SameFile(was, is) || was.Size() != is.Size() || !was.ModTime().Equal(is.ModTime()) || before != after || f.at.Sub(is.ModTime()) < tick {
			return false
		}
	}
	return true
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
// files, or write other refs and logs than it is told to, is about the real directory, or names a program that nobody has accepted.
func (l line) left() bool {
	switch l.key {
	case "core.worktree", "core.bare", "extensions.worktreeconfig", "core.alternaterefscommand", "blame.ignorerevsfile":
		return true
	}
	return includes(l.key) || l.updates() || strings.HasPrefix(l.key, "hook.") ||
		l.own && (strings.HasPrefix(l.key, "filter.") || merges(l.key) || signer(l.key) || connects(l.key) || reaches(l.key, l.value))
}

// updates reports whether a setting has a fetch or a push write refs of its own accord, here or there, or more
// than refs.
func (l line) updates() bool {
	switch section, rest, _ := strings.Cut(l.key, "."); section {
	case "remote":
		return slices.Contains([]string{"fetch", "push", "mirror", "prune", "prunetags", "tagopt", "followremotehead"}, rest[strings.LastIndexByte(rest, '.')+1:])
	case "push":
		return l.own
	}
	return l.own && (l.key == "core.logallrefupdates" && strings.EqualFold(l.value, "always") || l.key == "fetch.writecommitgraph" || strings.HasSuffix(l.key, ".bundleuri"))
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

// linkedNever are files that configure something: remotes and branches have addresses of remote repositories.
var linkedNever = []string{"config", "remotes", "branches"}

// linkedNames lists what a view has of the common git directory.
func (r *Repo) linkedNames() ([]string, error) {
	entries, err := os.ReadDir(r.Common)
	if err != nil {
		return nil, err
	}
	names := slices.Clone(linkedAlways)
	for _, e := range entries {
		if name := e.Name(); !e.Type().IsRegular() && !slices.Contains(linkedNever, name) && !strings.HasPrefix(name, "bossman") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// makeView makes the directory that stands in for the common git directory, if it is not there: its
// directories as symbolic links, and a configuration that stays as it is.
func (r *Repo) makeView(f *frozen) (string, error) {
	own, others := f.text(true), f.text(false)
	sum := sha256.Sum256([]byte(strings.Join(slices.Concat(f.names, []string{r.Common, own, others}), "\x00")))
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
	for _, name := range f.names {
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
