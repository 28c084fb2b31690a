package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A view has the settings that git has read, and no other configuration is read with it.
func TestFreeze(t *testing.T) {
	home, dir := t.TempDir(), filepath.Join(t.TempDir(), "repo")
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	run("init", "-q", "-b", "main")
	const odd = "  a\\b \"c\"\n# ; \t\r\x01é "
	for _, s := range [][2]string{
		{"user.name", "Ada"},
		{"user.email", "ada@example.org"},
		{"a.b", odd},
		{"a.s.u \"b\\ =x.k", odd},
		{"a..k", ""},
		{"core.autocrlf", "input"},
		{"extensions.worktreeConfig", "true"},
		{"filter.x.clean", "cat"},
		{"core.sshCommand", "ssh"},
		{"hook.h.command", "true"},
		{"include.path", "more"},
	} {
		run("config", "--add", s[0], s[1])
	}
	run("config", "--worktree", "a.worktree", "1")
	run("config", "-f", ".git/more", "a.more", "2")
	run("config", "--global", "filter.mine.clean", "cat")
	for _, s := range []string{"[a]\n\tempty\n", "[a.Old]\n\tx = y\n"} {
		f, err := os.OpenFile(filepath.Join(dir, ".git", "config"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(s); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	run("commit", "-q", "--allow-empty", "-m", "one")
	r, ok := At(dir)
	if !ok {
		t.Fatal("there is no repository")
	}
	var want []string
	for s := range strings.SplitSeq(run("config", "--list", "-z"), "\x00") {
		key, _, _ := strings.Cut(s, "\n")
		if !slices.Contains([]string{"core.bare", "extensions.worktreeconfig", "filter.x.clean", "core.sshcommand", "hook.h.command", "include.path"}, key) {
			want = append(want, s)
		}
	}
	f, err := r.freeze(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.at = time.Now().Add(time.Hour)
	for _, path := range []string{filepath.Join(dir, ".git", "config"), filepath.Join(home, ".gitconfig"), filepath.Join(dir, ".git", "config.worktree")} {
		if err := os.WriteFile(path, []byte("[filter"), 0o600); err != nil { // with which git fails
			t.Fatal(err)
		}
	}
	out, err := r.git(t.Context(), "config", "--list", "--show-scope", "-z")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	fields := strings.Split(out, "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] != "command" {
			got = append(got, fields[i+1])
		}
	}
	got = append(got, "")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the settings are\n%q\nwant\n%q", got, want)
	}
	head, err := r.Commit(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.SetRef(t.Context(), "refs/bossman/x/1", head, ""); err != nil || r.Ref("refs/bossman/x/1") != head {
		t.Errorf("SetRef: %v", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	removeViews(filepath.Dir(f.view))
	if _, err := os.Lstat(f.view); err == nil {
		t.Error("the view of a repository that is gone is left")
	}
}
