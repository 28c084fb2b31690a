package gateway

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/bossman-dev/bossman/mcp"
)

// Here is the Dir of an upstream that runs where the gateway's callers work, which is Options.Dir.
const Here = "."

// checkDir refuses a directory and a program of an upstream that would lead to other files in each directory in which
// an agent works: a clone could bring them.
func (u *Upstream) checkDir() error {
	switch program := u.Command[0]; {
	case u.Dir != "" && u.Dir != Here && !filepath.IsAbs(u.Dir):
		return fmt.Errorf("dir: %q is neither an absolute path nor %q, which is where the agent works", u.Dir, Here)
	case filepath.IsAbs(program) || filepath.Base(program) == program || filepath.IsAbs(u.Dir):
		return nil
	default:
		return fmt.Errorf("command: %q is a relative path, which every clone could have: use an absolute one, or set dir to an absolute path", program)
	}
}

// command returns the process of an upstream.
func (i *instance) command() (*mcp.Command, error) {
	u := i.u
	c := &mcp.Command{Args: u.Command, Dir: u.Dir}
	switch u.Dir {
	case "":
		dir, err := i.emptyDir()
		if err != nil {
			return nil, fmt.Errorf("make an empty directory for it: %w", err)
		}
		c.Dir = dir
	case Here:
		c.Dir = i.g.o.Dir
	}
	for _, v := range mcp.DefaultEnv() {
		if name, value, _ := strings.Cut(v, "="); isPath(name) {
			c.Env = append(c.Env, name+"="+cmp.Or(i.g.o.Search(value), os.DevNull)) // an empty one would be the current directory
		}
	}
	for _, name := range slices.Sorted(maps.Keys(u.Env)) {
		value := u.Env[name].Reveal()
		if isPath(name) || searches(name) && !filepath.IsAbs(u.Dir) {
			if value = i.g.o.Search(value); value == "" {
				continue
			}
		}
		c.Env = append(c.Env, name+"="+value)
	}
	return c, nil
}

// looksRelative reports whether an argument may be meant as a relative path. It is only for a hint.
func looksRelative(arg string) bool {
	if filepath.IsAbs(arg) || strings.ContainsAny(arg, " :") || strings.HasPrefix(arg, "-") || strings.HasPrefix(arg, "@") {
		return false
	}
	return strings.ContainsRune(filepath.ToSlash(arg), '/') || slices.Contains([]string{".", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".sh", ".jar"}, filepath.Ext(arg))
}

// emptyDir returns a directory for a process that is about to be started. Its path is always the same one, and it is new each
// time: what the process that had it before has left there is gone. So an interpreter finds no code there.
func (i *instance) emptyDir() (string, error) {
	root, err := i.g.scratch()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, fmt.Sprintf("%s-%d", i.u.Name, i.number))
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.Mkdir(dir, 0o700)
}

// temporary returns a function that makes a directory once, among the user's caches if there are any, and one that removes it.
func temporary() (dir func() (string, error), remove func()) {
	var mu sync.Mutex
	made := ""
	return func() (_ string, err error) {
			mu.Lock()
			defer mu.Unlock()
			if made != "" {
				return made, nil
			}
			base := "" // temporary files, where others may write above it
			if cache, err := os.UserCacheDir(); err == nil && os.MkdirAll(cache, 0o700) == nil {
				base = cache
			}
			made, err = os.MkdirTemp(base, "bossman-upstreams-")
			return made, err
		}, func() {
			mu.Lock()
			defer mu.Unlock()
			_ = os.RemoveAll(made)
		}
}

func isPath(name string) bool {
	return name == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(name, "PATH")
}

// searches reports whether a variable lists directories in which parts of programs are looked for.
func searches(name string) bool {
	switch name {
	case "PYTHONPATH", "NODE_PATH", "PERL5LIB", "PERLLIB", "RUBYLIB", "CLASSPATH", "GEM_PATH",
		"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH":
		return true
	}
	return false
}

// absolute returns a list of directories without those that are relative to the current one. An empty one is that itself.
func absolute(list string) string {
	dirs := slices.DeleteFunc(filepath.SplitList(list), func(dir string) bool { return !filepath.IsAbs(dir) })
	return strings.Join(dirs, string(filepath.ListSeparator))
}
