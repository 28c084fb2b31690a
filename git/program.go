package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Programs finds the programs that Bossman runs on its own account: git, and with it ssh, gh, the browser, the user's
// tool servers. Directories such as node_modules/.bin are in the PATH of many people, and what is in them came with a
// clone, or an agent has written it. So no directory of a project in which Bossman works counts.
type Programs struct {
	trees []string // the directories that do not count
	own   []string // those that do, also in one of trees
}

// markers are the names of files by which the top of a project is known that is no repository, such as an unpacked archive.
var markers = []string{".git", ".bossman", ".envrc", "package.json", "node_modules"}

// standard are the directories that count wherever a repository has its top, such as in / or in /opt/homebrew.
var standard = []string{"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin"}

// worked are the directories of the projects in which this process works, as they were when it began to.
var worked struct {
	sync.Mutex
	trees []string
}

// WorksIn says that this process works in the project of a directory. From then on none of its programs counts, even if the directory is
// moved or removed.
func WorksIn(dir string) {
	p := &Programs{}
	p.add(dir)
	worked.Lock()
	defer worked.Unlock()
	before := len(worked.trees)
	worked.trees = append(worked.trees, p.trees...)
	slices.Sort(worked.trees)
	if worked.trees = slices.Compact(worked.trees); len(worked.trees) > before {
		found.Clear()
	}
}

// ProgramsOutside returns the programs that do not lie in a project of the current directory, of one that WorksIn was told, or of one of dirs: in the
// directory itself; in a repository around it, with all its worktrees, the directory REPO.worktrees and the git directory;
// or in another project around it. The user's home directory is no project.
func ProgramsOutside(dirs ...string) *Programs {
	p := &Programs{own: slices.Clone(standard)}
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		p.own = append(p.own, home)
	}
	if dir, err := os.Getwd(); err == nil {
		dirs = append(dirs, dir)
	}
	worked.Lock()
	p.trees = slices.Clone(worked.trees)
	worked.Unlock()
	for _, dir := range dirs {
		p.add(dir)
	}
	return p
}

// add adds the projects of a directory, and of what it leads to.
func (p *Programs) add(dir string) {
	if !filepath.IsAbs(dir) {
		return
	}
	p.leaveOut(dir)
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		p.leaveOut(real)
	}
}

// leaveOut adds the projects of a directory.
func (p *Programs) leaveOut(dir string) {
	if r, err := Find(dir); err == nil {
		p.leaveOutRepo(r)
	}
	for at := dir; at != filepath.Dir(at); at = filepath.Dir(at) {
		if main, ok := strings.CutSuffix(at, ".worktrees"); ok {
			p.trees = append(p.trees, at, main)
		}
		if at != dir && !slices.ContainsFunc(markers, func(name string) bool {
			_, err := os.Lstat(filepath.Join(at, name))
			return err == nil
		}) {
			continue
		}
		p.trees = append(p.trees, at, at+".worktrees")
		if r, ok := At(at); ok {
			p.leaveOutRepo(r)
		}
	}
}

func (p *Programs) leaveOutRepo(r *Repo) {
	trees, own := r.places()
	p.trees = slices.Concat(p.trees, own, []string{r.Common, r.Dir})
	for _, tree := range trees {
		p.trees = append(p.trees, tree, tree+".worktrees")
	}
	slices.Sort(p.trees)
	p.trees = slices.Compact(p.trees)
}

// leaves reports whether a file lies in one of the directories that do not count, or leads through one.
func (p *Programs) leaves(file string) bool { return passes(file, p.trees, p.own) }

// List returns a list of directories, such as the PATH, without those that do not count, and without relative ones: these, and an empty
// one, are the current directory's.
func (p *Programs) List(list string) string {
	dirs := slices.DeleteFunc(filepath.SplitList(list), func(dir string) bool {
		return !filepath.IsAbs(dir) || p.leaves(dir+string(filepath.Separator)+"program")
	})
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// Look returns the absolute path of the first program of a name in the PATH. If the name has a directory, it is
// returned as it is: the user has named that very file. The error is an exec.ErrNotFound if there is none.
func (p *Programs) Look(name string) (string, error) {
	if filepath.Base(name) != name {
		return name, nil
	}
	left := ""
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		found, err := exec.LookPath(filepath.Join(dir, name))
		switch {
		case err != nil:
		case !p.leaves(found):
			return found, nil
		case left == "":
			left = found
		}
	}
	if left != "" {
		return "", &LeftOutError{Name: name, Path: left}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// A LeftOutError says that a program is in the PATH only where none is run.
type LeftOutError struct{ Name, Path string }

func (e *LeftOutError) Error() string {
	return fmt.Sprintf("%q is in the PATH only as %q, which lies in the project and is not run", e.Name, e.Path)
}

func (e *LeftOutError) Unwrap() error { return exec.ErrNotFound }

// Environ returns the environment of this process with a PATH of directories that count.
func (p *Programs) Environ() []string {
	env := os.Environ()
	for i, v := range env {
		if name, value, _ := strings.Cut(v, "="); name == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(name, "PATH") {
			if value = p.List(value); value == "" {
				value = os.DevNull // an empty one would be the current directory
			}
			env[i] = name + "=" + value
		}
	}
	return env
}

// Command returns a process of a program that Look finds, with the environment of Environ. It is killed when ctx is done.
func (p *Programs) Command(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	path, err := p.Look(name)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = p.Environ()
	return cmd, nil
}

// found are the programs git that were found, by what they were searched with.
var found sync.Map

type search struct{ path, home, dir, root, common string }

// A foundGit is a program git, with the PATH for it: it runs ssh and others.
type foundGit struct{ program, path string }

// program returns git: the first one in the PATH that lies neither in the repository nor in a project of this process's
// directory.
func (r *Repo) program() (foundGit, error) {
	s := search{path: os.Getenv("PATH")}
	s.dir, _ = os.Getwd()
	s.home, _ = os.UserHomeDir()
	if r != nil {
		s.root, s.common = r.Root, r.Common
	}
	if g, ok := found.Load(s); ok {
		return g.(foundGit), nil
	}
	p := ProgramsOutside(s.root)
	if s.common != "" {
		p.leaveOutRepo(r)
	}
	program, err := p.Look("git")
	if e, ok := errors.AsType[*LeftOutError](err); ok {
		return foundGit{}, fmt.Errorf("%w, but for %q, which lies in the project and is not run", ErrNoGit, e.Path)
	}
	if err != nil {
		return foundGit{}, ErrNoGit
	}
	g := foundGit{program, "PATH=" + p.List(s.path)} // not empty: git is there
	found.Store(s, g)
	return g, nil
}
