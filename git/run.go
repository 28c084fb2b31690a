package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/proc"
)

// ErrNoGit means that there is no program git where programs are searched for.
var ErrNoGit = errors.New("git is not in the PATH of this process")

// An OldError says that the git in the PATH is too old. A git before 2.32 reads other
// configuration than it is told to.
type OldError struct {
	Version string
	// Needs is the oldest version that would do, 2.32 if it is empty.
	Needs string
}

func (e *OldError) Error() string {
	if e.Needs != "" {
		return fmt.Sprintf("git %.20q is too old for landing: it needs git %s or newer", e.Version, e.Needs)
	}
	return fmt.Sprintf("git %.20q is too old: Bossman needs 2.32 or newer", e.Version)
}

// known are the versions of the programs that were looked at, by path.
var known sync.Map

// Installed returns ErrNoGit if there is no git, and an *OldError if it is too old.
func Installed() error { return (*Repo)(nil).installed() }

func (r *Repo) installed() error {
	v, err := r.version()
	if err == nil && !v.has(32) {
		err = &OldError{Version: string(v)}
	}
	return err
}

// version returns the version of git.
func (r *Repo) version() (version, error) {
	g, err := r.program()
	if err != nil {
		return "", err
	}
	if v, ok := known.Load(g.program); ok {
		return v.(version), nil
	}
	cmd := exec.Command(g.program, "version")
	cmd.Env = append(os.Environ(), g.path)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git version: %w", err)
	}
	v := version(strings.TrimSpace(strings.TrimPrefix(string(out), "git version ")))
	known.Store(g.program, v)
	return v, nil
}

// A version is what git version says, such as 2.39.5 or 2.50.1 (Apple Git-155).
type version string

// has reports whether it is 2.least or newer.
func (v version) has(least int) bool {
	var major, minor int
	n, _ := fmt.Sscanf(string(v), "%d.%d", &major, &minor)
	return n == 2 && (major > 2 || major == 2 && minor >= least)
}

// An Error says that git failed.
type Error struct {
	// Args is the command, without the options that every call has.
	Args []string
	// Exit is the exit status, -1 if git was killed or not started.
	Exit int
	// Output is the last part of standard error.
	Output string
	err    error
}

func (e *Error) Error() string {
	// What git complains about may be text of the repository. Its warnings quote files.
	var lines []string
	for line := range strings.Lines(e.Output) {
		if strings.HasPrefix(line, "fatal: ") || strings.HasPrefix(line, "error: ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if lines := strings.Join(lines, "\n"); lines != "" {
		return fmt.Sprintf("git %s: %v: %.400q", e.Args[0], e.err, lines)
	}
	return fmt.Sprintf("git %s: %v", e.Args[0], e.err)
}

func (e *Error) Unwrap() error { return e.err }

const (
	// maxOutput bounds what is read of git's output.
	maxOutput = 64 << 20
	// maxErrors bounds what is kept of standard error.
	maxErrors = 4 << 10
	// killDelay is how long git may take to end after it was told to.
	killDelay = 2 * time.Second
	// maxRead bounds the time of a call that only reads objects and refs.
	maxRead = 10 * time.Second
)

// safeOptions precede every command.
var safeOptions = []string{
	"-c", "core.fsmonitor=false",
	"-c", "core.trustctime=true", "-c", "core.checkStat=default", "-c", "core.ignoreStat=false", // a file that changed is read, whatever its time of modification
	"-c", "core.hooksPath=" + os.DevNull,
	"-c", "core.pager=cat",
	"-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
	"-c", "core.filesRefLockTimeout=100", "-c", "core.packedRefsTimeout=1000", // git's own defaults: a repository may say for ever
	"-c", "advice.detachedHead=false", "-c", "advice.graftFileDeprecated=false",
	"-c", "protocol.ext.allow=never",
	"-c", "submodule.recurse=false", "-c", "diff.ignoreSubmodules=dirty", // git does not run itself in submodules
}

// A call is one run of git.
type call struct {
	args    []string
	env     []string // in addition
	set     settings // above those of all files; env has none then
	stdin   string
	memory  int64    // bounds what git may allocate, if it is more than a read needs
	first   int      // takes this many bytes of the output, if it is not 0, and leaves the rest
	warned  *string  // gets the last part of standard error, also if git does not fail
	one     *bool    // is set if git ends with the status 1, which is no error then
	config  []string // further options -c, which are above safeOptions
	fetches bool     // git reads and writes the file shallow, too
	frozen  *frozen  // the configuration, if it is not the one of now
	lingers bool     // a process that git has started may go on with its output, such as a shared connection of ssh
}

// git runs a command that reads in the repository, and returns its standard output.
func (r *Repo) git(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, maxRead)
	defer cancel()
	return r.run(ctx, call{args: args})
}

func (r *Repo) run(ctx context.Context, c call) (string, error) {
	err := r.usable()
	env := r.environment()
	if err == nil && r.Common != "" { // else there is no repository
		f := c.frozen
		if f == nil {
			f, err = r.now(ctx)
		}
		if err == nil {
			env = append(env, f.env()...)
			if !c.fetches {
				env = append(env, shallowFile+f.shallow)
			}
		}
	}
	if err != nil {
		return "", &Error{Args: c.args, Exit: -1, err: err}
	}
	return r.start(ctx, c, env)
}

// usable returns an error if git must not run in the repository.
func (r *Repo) usable() error { return cmp.Or(r.installed(), r.there(), r.look()) }

// start runs git.
func (r *Repo) start(ctx context.Context, c call, env []string) (string, error) {
	options := slices.Clone(safeOptions)
	for _, s := range c.config {
		options = append(options, "-c", s)
	}
	g, err := r.program()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(g.program, append(options, c.args...)...)
	cmd.Dir = r.Root
	cmd.Env = slices.Concat(env, []string{g.path}, c.env, c.set.env())
	cmd.Stdin = strings.NewReader(c.stdin)
	cmd.WaitDelay = killDelay
	out, complaints := &limited{limit: cmp.Or(c.first, maxOutput)}, &limited{limit: maxErrors, tail: true}
	cmd.Stdout, cmd.Stderr = out, complaints
	proc.LimitMemory(cmd, max(c.memory, r.readMemory()))
	ctx, stop := r.watched(ctx)
	defer stop()
	err = ctx.Err()
	var tree *proc.Tree
	if err == nil {
		tree, err = proc.Start(cmd)
	}
	if err == nil {
		select {
		case <-tree.Done():
		case <-ctx.Done():
			tree.End(killDelay) // also the filters that git has started
		}
		err = tree.Wait()
	}
	if c.warned != nil {
		*c.warned = complaints.String()
	}
	if c.lingers && errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	if err != nil && c.one != nil && ctx.Err() == nil && cmd.ProcessState.ExitCode() == 1 {
		*c.one, err = true, nil
	}
	if err == nil && out.cut && c.first == 0 {
		err = errors.New("the output is too long")
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", &Error{Args: c.args, Exit: cmd.ProcessState.ExitCode(), Output: complaints.String(), err: err}
	}
	return out.String(), nil
}

// readMemory bounds what git may allocate to read: an object that unpacks to some hundred
// megabytes, or a file in the worktree without measure, is not worth that. An index takes some
// times its size, and objects in packs take some bytes each if history is walked.
func (r *Repo) readMemory() int64 {
	const least, more, object = 128 << 20, 512 << 20, 40
	limit := int64(least)
	if info, err := os.Stat(filepath.Join(r.Dir, "index")); err == nil {
		limit += min(8*info.Size(), more)
	}
	packed := int64(0)
	packs, _ := os.ReadDir(filepath.Join(r.Common, "objects", "pack"))
	for _, e := range packs {
		if strings.HasSuffix(e.Name(), ".idx") && packed < more {
			packed += object * indexed(filepath.Join(r.Common, "objects", "pack", e.Name()))
		}
	}
	return limit + min(packed, more)
}

// lookAgain is how long a look at the files of a repository holds: the calls of one operation,
// but not the time that a check runs.
const lookAgain = time.Second

// look is plain, once for the calls that follow each other.
func (r *Repo) look() error {
	if at := r.looked.Load(); at != nil && time.Since(*at) < lookAgain {
		return nil
	}
	if err := r.plain(); err != nil {
		return err
	}
	r.looked.Store(new(time.Now()))
	return nil
}

// plain refuses a repository in which a pipe, a device or a file without measure stands in
// place of a file that git reads: git would wait for it, or read it whole. So is one with
// extensions that are not known.
func (r *Repo) plain() error {
	own := r.resolved()
	for name, limit := range map[string]int64{
		"HEAD": maxSmall, "commondir": maxSmall, "gitdir": maxSmall, "config": maxConfig, "config.worktree": maxConfig, "index": maxIndex, "packed-refs": maxPacked,
		"shallow": maxPacked, "info/attributes": maxConfig, "info/exclude": maxConfig, "info/grafts": maxConfig, "info/sparse-checkout": maxConfig, "objects/info/alternates": maxConfig,
	} {
		for _, dir := range []string{r.Dir, r.Common} {
			name := filepath.FromSlash(name)
			path := filepath.Join(dir, name)
			if err := inside(own, dir, name); err != nil {
				return err
			}
			if info, err := os.Stat(path); err == nil && (!info.Mode().IsRegular() || info.Size() > limit) {
				return fmt.Errorf("%q is not a regular file of at most %d bytes", path, limit)
			}
		}
	}
	if _, err := r.objectDirs(); err != nil {
		return err
	}
	if _, err := r.extended(); err != nil {
		return err
	}
	files := r.readings()
	if !r.Bare {
		files = append(files, filepath.Join(r.Root, ".gitattributes"), filepath.Join(r.Root, ".gitignore"))
	}
	for _, path := range files {
		if info, err := os.Stat(path); err == nil && path != os.DevNull && !info.IsDir() && (!info.Mode().IsRegular() || info.Size() > maxConfig) {
			return fmt.Errorf("%q, which git reads, is not a regular file of at most %d bytes", path, maxConfig)
		}
	}
	return filepath.WalkDir(filepath.Join(r.Common, "refs"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		if name, err := filepath.Rel(r.Common, path); err == nil && e.Type()&fs.ModeSymlink != 0 {
			if err := inside(own, r.Common, name); err != nil {
				return err
			}
		}
		if info, err := os.Stat(path); err == nil && !info.IsDir() && (!info.Mode().IsRegular() || info.Size() > maxSmall) {
			return fmt.Errorf("%q is not a regular file of at most %d bytes", path, maxSmall)
		}
		return nil
	})
}

// resolved returns the git directories as they are without symbolic links.
func (r *Repo) resolved() (dirs []string) {
	for _, dir := range []string{r.Common, r.Dir} {
		if dir, err := filepath.EvalSymlinks(dir); err == nil && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// inside refuses a symbolic link out of a repository, whose git directories are own, in place of
// one of git's own files: git quotes in its complaints what it cannot read there. The same file
// of another repository is fine: there are tools that share them.
func inside(own []string, dir, name string) error {
	path := filepath.Join(dir, name)
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil // it is not there, or leads nowhere
	}
	for _, dir := range own {
		if strings.HasPrefix(target, dir+string(filepath.Separator)) {
			return nil
		}
	}
	if other, ok := strings.CutSuffix(target, string(filepath.Separator)+name); ok && isCommon(other) {
		return nil
	}
	return fmt.Errorf("%q leads out of the repository by a symbolic link", path)
}

// maxConfig bounds the files of a repository that people write.
const maxConfig = 4 << 20

// environment is that of this process without its GIT_* variables, and with the
// repository named, so that git does not search for one.
func (r *Repo) environment() []string {
	env := make([]string, 0, len(os.Environ())+8)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") && !strings.HasPrefix(v, "LC_") && !strings.HasPrefix(v, "LANG") {
			env = append(env, v)
		}
	}
	env = append(
		env, "GIT_DIR="+r.Dir, "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", // versions without the first would fetch an object that is missing, by a command of the repository
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE="+os.DevNull, "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0",
		"GIT_ASKPASS=true", "GIT_PAGER=cat", "GIT_EDITOR=true", "LC_ALL=C",
		"PYTHONSAFEPATH=1", // a filter such as python3 -m nbstripout does not take its modules from the worktree
	)
	if !r.Bare {
		env = append(env, "GIT_WORK_TREE="+r.Root)
	} else if r.Dir == r.Common {
		env = append(env, "GIT_IMPLICIT_WORK_TREE=0")
	}
	if r.Common != "" && r.Common != r.Dir {
		env = append(env, "GIT_COMMON_DIR="+r.Common) // whatever the file commondir says now
	}
	return env
}

// A limited writer keeps the first bytes, or with tail the last ones.
type limited struct {
	bytes.Buffer
	limit int
	tail  bool
	cut   bool
}

func (w *limited) Write(p []byte) (int, error) {
	if !w.tail {
		room := w.limit - w.Len()
		if room < len(p) {
			w.cut = true
			w.Buffer.Write(p[:max(room, 0)])
			return len(p), nil
		}
		return w.Buffer.Write(p)
	}
	w.Buffer.Write(p)
	if over := w.Len() - w.limit; over > 0 {
		w.cut = true
		w.Next(over)
	}
	return len(p), nil
}
