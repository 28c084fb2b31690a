package git_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/git"
)

// conflicted makes a repository with a merge that has a conflict in the file one, which has begun
// with a text in all commits.
func conflicted(t *testing.T, text string) (*git.Repo, string) {
	t.Helper()
	r, dir := newRepo(t)
	if err := os.WriteFile(filepath.Join(dir, "one"), []byte(text+"a\nb\nc\nend\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	sh(t, dir, `git commit -qam begin; git checkout -q -b other; sed -i.bak s/^end$/theirs/ one; git commit -qam theirs; git checkout -q main; sed -i.bak s/^end$/ours/ one; git commit -qam ours; ! git merge -q other`)
	return r, dir
}

// many returns different conflict markers, each in a line.
func many(n int, name string) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "<<<<<<< %s %d\n", name, i)
	}
	return text.String()
}

// TestConflicted: a marker counts that the file did not have before the conflict. How many there
// are does not matter, unless it had too many to compare.
func TestConflicted(t *testing.T) {
	for name, c := range map[string]struct {
		before, now string // of the file, without its conflict
		want        bool
	}{
		"conflict":            {"", "", true},
		"resolved":            {"", "resolved\n", false},
		"marker before":       {many(3, "doc"), many(3, "doc"), false},
		"one more":            {many(3, "doc"), many(4, "doc"), true},
		"many more":           {many(3, "doc"), many(5000, "doc"), true},
		"many before":         {many(5000, "doc"), many(5000, "doc"), false},
		"others, many before": {many(5000, "doc"), many(5000, "other"), false},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := conflicted(t, c.before)
			if c.now != "" {
				if err := os.WriteFile(filepath.Join(dir, "one"), []byte(c.now), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			paths, err := r.Conflicted(t.Context())
			if err != nil || slices.Contains(paths, "one") != c.want {
				t.Errorf("Conflicted = %q, %v, want it: %v", paths, err, c.want)
			}
		})
	}
}

// TestUnresolved: a state that was kept with a conflict is unresolved while one of its markers is
// there, also behind many others.
func TestUnresolved(t *testing.T) {
	r, dir := conflicted(t, "")
	text, err := os.ReadFile(filepath.Join(dir, "one"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Snapshot(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	commit, err := r.CommitTree(t.Context(), s.Tree, []string{s.Base}, "state\n\n"+git.UnmergedTrailers([]string{"one"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.KeepUnmerged(t.Context(), git.StateRefs("web-1")+"1", commit); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		now  string
		want bool
	}{
		"as it was":   {string(text), true},
		"behind many": {many(5000, "more") + string(text), true},
		"another":     {many(3, "more"), false},
		"resolved":    {"resolved\n", false},
	} {
		if err := os.WriteFile(filepath.Join(dir, "one"), []byte(c.now), 0o644); err != nil {
			t.Fatal(err)
		}
		paths, err := r.Unresolved(t.Context(), "web-1", time.Time{}, "")
		if err != nil || slices.Contains(paths, "one") != c.want {
			t.Errorf("%s: Unresolved = %q, %v, want it: %v", name, paths, err, c.want)
		}
	}
}

// A file of markers alone takes little memory.
func TestConflicted_memory(t *testing.T) {
	r, dir := conflicted(t, "")
	if err := os.WriteFile(filepath.Join(dir, "one"), []byte(strings.Repeat("<<<<<<< \n", 6<<20)), 0o644); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := r.Conflicted(t.Context()); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 100 {
		t.Errorf("a file of 54 MB took %d MB", mb)
	}
}

// A pipe that takes the place of a file at any moment is not waited for.
func TestConflicted_pipe(t *testing.T) {
	r, dir := conflicted(t, "")
	sh(t, dir, "mkfifo ../pipe && cp one ../file")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			for _, name := range []string{"pipe", "file"} {
				select {
				case <-stop:
					return
				default:
				}
				temp := filepath.Join(dir, "..", "temp")
				_ = os.Link(filepath.Join(dir, "..", name), temp)
				_ = os.Rename(temp, filepath.Join(dir, "one"))
			}
		}
	}()
	done := make(chan error, 1)
	go func() {
		for range 100 {
			if _, err := r.Conflicted(t.Context()); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("Conflicted waits for the pipe")
	}
	close(stop)
	<-stopped
}
