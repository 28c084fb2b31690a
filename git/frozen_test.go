package git_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/git"
)

// flips is how many operations of each kind run while the configuration changes; make hostile has more.
var flips = func() int {
	if n, err := strconv.Atoi(os.Getenv("BOSSMAN_FLIPS")); err == nil {
		return n
	}
	return 4
}()

// Nothing runs that nobody has accepted, however often the configuration changes while git runs, and
// the pointers by which git finds it.
func TestFrozen_flip(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	canary := filepath.Join(home, "canary")
	const program = `touch "$CANARY"; cat`
	t.Setenv("CANARY", canary)
	r, slot, _ := withSubmodule(t)
	dir := r.Root
	sh(t, dir, `echo '* filter=x merge=x' > .gitattributes; printf '1\n2\n3\n' > a; git add .; git commit -qm main
		git checkout -q -b other; printf '1\n2\n4\n' > a; git commit -qam other; git checkout -q -b chain main
		for n in $(seq `+strconv.Itoa(flips)+`); do printf "0$n\n2\n3\n" > a; git commit -qam $n; done; git checkout -q main`)
	sh(t, slot.Root, `git checkout -q --detach main; echo '* filter=x' > lib/.gitattributes`)
	bad := "\n[filter \"x\"]\n\tclean = " + strconv.Quote(program) + "\n\tsmudge = " + strconv.Quote(program) +
		"\n[merge \"x\"]\n\tdriver = " + strconv.Quote(program) + "\n[hook \"h\"]\n\tevent = post-checkout\n\tevent = reference-transaction\n\tcommand = " + strconv.Quote(program) + "\n"
	main, other, chain := commitOf(t, dir, "main"), commitOf(t, dir, "other"), strings.Fields(sh(t, dir, "git rev-list --reverse main..chain"))

	// The other repositories that a pointer may lead to.
	evil := filepath.Join(r.Common, "bossman", "evil")
	module := sh(t, slot.Root, "cd lib && git rev-parse --absolute-git-dir")
	sh(t, dir, "mkdir -p .git/bossman; cp -r .git "+home+"/evil; cp -r "+module+" "+evil+"; git config -f "+evil+"/config core.worktree "+slot.Root+"/lib")
	if err := os.WriteFile(filepath.Join(home, "evil", "more"), []byte(bad), 0o600); err != nil {
		t.Fatal(err)
	}
	sh(t, home, "cat evil/more >> evil/config")

	var flipped []flip
	for _, config := range []string{filepath.Join(r.Common, "config"), filepath.Join(module, "config"), filepath.Join(evil, "config")} {
		flipped = append(flipped, flipOf(t, config, func(text string) string { return text + bad }))
	}
	configs := len(flipped)
	flipped = append(flipped,
		flip{filepath.Join(slot.Dir, "config.worktree"), "", bad},
		flip{filepath.Join(r.Common, "info", "attributes"), "", "* filter=x merge=x\n"},
		flipOf(t, filepath.Join(slot.Dir, "commondir"), func(string) string { return filepath.Join(home, "evil") + "\n" }),
		flipOf(t, filepath.Join(slot.Root, ".git"), func(string) string { return "gitdir: " + filepath.Join(home, "evil") + "\n" }),
		flipOf(t, filepath.Join(slot.Root, "lib", ".git"), func(string) string { return "gitdir: " + evil + "\n" }))
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for n := 0; ; n++ {
			for i, f := range flipped {
				select {
				case <-done:
					return
				default:
				}
				f.put(n%2 == 1 && (i < configs || n%8 == 7))
			}
		}
	}()
	defer func() { close(done); <-ended }()

	accept := func(s string) bool { return strings.HasPrefix(s, "filter.y.") }
	for name, do := range map[string]func(n int, slot *git.Repo) error{
		"Status":   func(_ int, slot *git.Repo) error { _, err := slot.Status(t.Context()); return err },
		"Snapshot": func(_ int, slot *git.Repo) error { _, err := slot.Snapshot(t.Context(), accept); return err },
		"main":     func(int, *git.Repo) error { _, err := r.Snapshot(t.Context(), accept); return err },
		"Hidden":   func(_ int, slot *git.Repo) error { _, err := slot.Hidden(t.Context()); return err },
		"Checkout": func(n int, slot *git.Repo) error {
			return slot.Checkout(t.Context(), "fix", []string{main, other}[n%2], false, accept)
		},
		"Candidate": func(n int, _ *git.Repo) error {
			_, err := r.Candidate(t.Context(), git.Candidate{Target: chain[n], Tip: other, Message: "x"}, accept)
			return err
		},
		"SetRef": func(n int, _ *git.Repo) error {
			return r.SetRef(t.Context(), "refs/bossman/web-1/1", chain[n], "")
		},
		"Advance": func(n int, _ *git.Repo) error {
			_, err := r.Advance(t.Context(), git.Advance{Branch: "main", Old: r.Branch("main"), New: chain[n]}, accept)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			good, n := 0, 0
			// An operation that was refused each time has shown nothing.
			for ; n < flips || good == 0 && n < 100*flips; n++ {
				for _, f := range []string{filepath.Join(slot.Root, "a"), filepath.Join(slot.Root, "lib", "new"), filepath.Join(dir, "new")} {
					_ = os.WriteFile(f, []byte(strconv.Itoa(n%10)), 0o600)
				}
				now, ok := git.At(slot.Root)
				if !ok {
					now = slot
				}
				if do(n%flips, now) == nil {
					good++
				}
				if os.Remove(canary) == nil {
					t.Fatalf("operation %d ran a program that nobody has accepted", n)
				}
			}
			if t.Logf("%d of %d without an error", good, n); good == 0 {
				t.Error("every operation failed")
			}
		})
	}
}

// The operations on one repository read the configuration once, as long as it stays as it is.
func TestFrozen_once(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	_, dir := newRepo(t)
	real, bin, log := sh(t, dir, "command -v git"), t.TempDir(), filepath.Join(t.TempDir(), "log")
	script := "#!/bin/sh\ncase \" $* \" in *' config --list '*) echo >> " + log + ";; esac\nexec " + real + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	sh(t, dir, "echo two > two; touch -d yesterday .git/HEAD")
	// round returns whether it was fast enough: what was read is not used for long.
	round := func() bool {
		r, err := git.Find(dir)
		if err != nil {
			t.Fatal(err)
		}
		sh(t, dir, "rm -f "+log)
		for n, change := range []string{
			"touch -d yesterday .git/config",
			"git config core.excludesFile none; touch -d yesterday .git/config",
			"git config -f " + home + "/.gitconfig user.name Ada; touch -d yesterday " + home + "/.gitconfig",
		} {
			sh(t, dir, change)
			at := time.Now()
			_, err := r.Status(t.Context())
			if err == nil {
				_, err = r.Snapshot(t.Context(), nil)
			}
			if err == nil {
				err = r.SetRef(t.Context(), "refs/bossman/web-1/1", r.Branch("main"), r.Ref("refs/bossman/web-1/1"))
			}
			if err != nil {
				t.Fatal(err)
			}
			if time.Since(at) > time.Second/2 {
				return false
			}
			if text, _ := os.ReadFile(log); len(text) != n+1 {
				t.Errorf("after %q the configuration was read %d times, want %d", change, len(text), n+1)
			}
		}
		return true
	}
	for range 100 {
		if round() {
			return
		}
		sh(t, dir, "git config --unset core.excludesFile || true; rm -f "+home+"/.gitconfig")
	}
	t.Error("the operations took half a second in each of 100 rounds")
}

// A flip is a file that has the one or the other text.
type flip struct{ path, good, bad string }

func flipOf(t *testing.T, path string, bad func(good string) string) flip {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return flip{path, string(text), bad(string(text))}
}

// put puts a text in place of the other one, for a moment.
func (f flip) put(bad bool) {
	text := f.good
	if bad {
		text = f.bad
	}
	if os.WriteFile(f.path+"~", []byte(text), 0o600) == nil {
		_ = os.Rename(f.path+"~", f.path)
	}
	time.Sleep(300 * time.Microsecond)
}
