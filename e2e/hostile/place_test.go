package hostile

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// A place is a directory that somebody else made, and the user who works in it.
type place struct {
	t    testing.TB
	base string
	// dir is where the case builds, and where the commands run.
	dir string
	// number is that of the place: a short run calls other tools in each.
	number int
	// more are command lines that a short run needs, too.
	more []string
	// env are further variables of the user.
	env []string
	// control is a command that runs the canary, for a user without care.
	control []string

	before map[string]string
}

// secret is in the title of a task of somebody else's board.
const secret = "Sell the company"

// secretDigits is a file that could pass for the name of a commit.
const secretDigits = "5ec7e75ec7e75ec7e75ec7e75ec7e75ec7e75ec7\n"

// shows reports whether a text has something secret in it.
func shows(text string) bool {
	return strings.Contains(text, secret) || strings.Contains(text, secretDigits[:8])
}

func newPlace(t testing.TB) *place {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, base: base, dir: filepath.Join(base, "work", "clone")}
	for _, dir := range []string{"home", "outside", "work"} {
		p.mkdir(filepath.Join(base, dir))
	}
	p.write(filepath.Join(base, "outside", "precious"), "precious\n")
	p.write(p.canary(), "#!/bin/sh\necho \"$0 $*\" >> '"+p.ran()+"'\ncat 2>/dev/null\nexit 0\n")
	if err := os.Chmod(p.canary(), 0o755); err != nil {
		t.Fatal(err)
	}
	p.must(os.CopyFS(p.victim(), os.DirFS(filepath.Join(template, "victim"))))
	return p
}

func (p *place) canary() string  { return filepath.Join(p.base, "canary") }
func (p *place) ran() string     { return filepath.Join(p.base, "ran") }
func (p *place) home() string    { return filepath.Join(p.base, "home") }
func (p *place) outside() string { return filepath.Join(p.base, "outside") }
func (p *place) victim() string  { return filepath.Join(p.base, "outside", "victim") }

// precious is a file that no command may change.
func (p *place) precious() string { return filepath.Join(p.base, "outside", "precious") }

// git is a path in the git directory, and board one of the board's files.
func (p *place) git(elem ...string) string {
	return filepath.Join(append([]string{p.dir, ".git"}, elem...)...)
}

func (p *place) board(suffix string) string { return p.git("bossman", "board.db"+suffix) }

// command is a program that the user runs in dir.
func (p *place) command(dir string, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append([]string{
		"HOME=" + p.home(), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "LANG=C.UTF-8", "TERM=xterm", "NO_COLOR=1",
		"BOSSMAN_PERSON=1", "GIT_CONFIG_NOSYSTEM=1",
	}, p.env...)
	return cmd
}

func (p *place) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) mkdir(path string) {
	p.t.Helper()
	p.must(os.MkdirAll(path, 0o755))
}

func (p *place) write(path, text string) {
	p.t.Helper()
	p.mkdir(filepath.Dir(path))
	_ = os.RemoveAll(path)
	p.must(os.WriteFile(path, []byte(text), 0o644))
}

func (p *place) add(path, text string) {
	p.t.Helper()
	old, _ := os.ReadFile(path)
	p.write(path, string(old)+text)
}

// clone makes the directory a repository with a board in it.
func (p *place) clone() {
	p.t.Helper()
	p.copy(p.dir)
}

func (p *place) copy(to string) {
	p.t.Helper()
	p.mkdir(filepath.Dir(to))
	p.must(os.CopyFS(to, os.DirFS(filepath.Join(template, "clone"))))
}

// ownCheck gives the user a check of their own, so that a report makes git read the files.
func (p *place) ownCheck() {
	p.t.Helper()
	p.write(filepath.Join(p.home(), ".config", "bossman", "config.toml"), "[check]\ncommand = [\"true\"]\n")
}

// gitRun runs git as whoever builds the archive.
func (p *place) gitRun(dir string, args ...string) {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), "git", append([]string{"-c", "user.name=Mallory", "-c", "user.email=m@example.com", "-c", "protocol.file.allow=always", "-c", "core.hooksPath=/dev/null"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(p.base, "nobody"), "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// A thing is what can stand at a path in place of the file that is expected.
type thing struct {
	name string
	put  func(p *place, path string)
}

// things are what an archive can have, and device nodes, which it has if root unpacks it.
var things = []thing{
	{"pipe", func(p *place, path string) { p.must(syscall.Mkfifo(path, 0o644)) }},
	{"link-to-device", func(p *place, path string) { p.must(os.Symlink("/dev/zero", path)) }},
	{"link-outside", func(p *place, path string) { p.must(os.Symlink(p.precious(), path)) }},
	{"link-nowhere", func(p *place, path string) { p.must(os.Symlink(filepath.Join(p.outside(), "created"), path)) }},
	{"huge", func(p *place, path string) { p.sparse(path, 8<<30) }},
	{"big", func(p *place, path string) { p.sparse(path, 47<<20) }},
	{"directory", func(p *place, path string) { p.mkdir(path) }},
	{"device", func(p *place, path string) {
		if err := syscall.Mknod(path, syscall.S_IFCHR|0o666, 1<<8|5); err != nil {
			p.t.Skipf("needs root: %v", err)
		}
	}},
}

func (p *place) put(name, path string) {
	p.t.Helper()
	p.mkdir(filepath.Dir(path))
	_ = os.RemoveAll(path)
	i := slices.IndexFunc(things, func(k thing) bool { return k.name == name })
	things[i].put(p, path)
}

// sparse makes a file of zeros that takes no space.
func (p *place) sparse(path string, size int64) {
	p.t.Helper()
	p.must(os.WriteFile(path, nil, 0o644))
	p.must(os.Truncate(path, size))
}

// watch remembers what is outside.
func (p *place) watch() { p.before = p.fingerprint() }

// fingerprint describes every file that no command may touch: what is outside, and in the
// user's home without our own directory.
func (p *place) fingerprint() map[string]string {
	all := map[string]string{}
	for _, root := range []string{p.outside(), p.home()} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if path == filepath.Join(p.home(), ".local", "state", "bossman") {
				return fs.SkipDir
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			if e.IsDir() {
				if !slices.Contains([]string{p.home(), filepath.Join(p.home(), ".local"), filepath.Join(p.home(), ".local", "state")}, path) {
					all[path] = "directory"
				}
				return nil
			}
			all[path] = fmt.Sprint(info.Mode(), info.Size(), info.ModTime())
			if info.Mode().IsRegular() && info.Size() < 1<<20 {
				text, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				all[path] += fmt.Sprintf(" %x", sha256.Sum256(text))
			}
			return nil
		})
		p.must(err)
	}
	return all
}

// touched says what has changed outside since watch, and whether the canary was run.
func (p *place) touched() string {
	var said []string
	if text, err := os.ReadFile(p.ran()); err == nil {
		said = append(said, "the canary was run: "+string(text))
		_ = os.Remove(p.ran())
	}
	after := p.fingerprint()
	for _, path := range slices.Sorted(maps.Keys(after)) {
		if old, ok := p.before[path]; !ok || old != after[path] {
			said = append(said, fmt.Sprintf("%s was %q and is %q", path, old, after[path]))
		}
	}
	for path := range p.before {
		if _, ok := after[path]; !ok {
			said = append(said, path+" is gone")
		}
	}
	p.before = after
	return strings.Join(said, "\n")
}
