package config

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
)

func TestSettings_order(t *testing.T) {
	dir := tree(t, map[string]string{
		"user.toml":    "policy = 'trust'\nlease = '5m'\nskills = ['a', 'b']\nnotify = ['cmd', 'arg']\nproject = 'mine'\n",
		"project.toml": "policy = 'person'\nskills = 'x, y'\nareas = ['api', 'web']\nnotify = ['evil']\ndb = 'postgres://evil'\nupstreams = 1\n",
	})
	s := newSettings()
	user, project := filepath.Join(dir, "user.toml"), filepath.Join(dir, "project.toml")
	if err := s.readFile(user, false); err != nil {
		t.Fatal(err)
	}
	if err := s.readFile(project, true); err != nil {
		t.Fatal(err)
	}
	if err := s.readEnv(func(name string) string { return map[string]string{"BOSSMAN_LEASE": "1h"}[name] }); err != nil {
		t.Fatal(err)
	}
	if err := s.set("project", "flag", "--project"); err != nil {
		t.Fatal(err)
	}
	if s.Policy != "person" || s.Lease != time.Hour || !slices.Equal(s.Skills, []string{"x", "y"}) || s.Project != "flag" ||
		!slices.Equal(s.Areas, []string{"api", "web"}) || s.DB != "" || !slices.Equal(s.Notify, []string{"cmd", "arg"}) {
		t.Errorf("settings are %+v", s)
	}
	for key, want := range map[string]string{
		"policy": project, "lease": "BOSSMAN_LEASE", "skills": project, "project": "--project", "notify": user, "db": "default", "areas": project,
	} {
		if s.Origin[key] != want {
			t.Errorf("the origin of %s is %s, want %s", key, s.Origin[key], want)
		}
	}
	for i, want := range []string{"db in ", "notify in ", `"upstreams" in `} {
		if i >= len(s.Ignored) || !strings.HasPrefix(s.Ignored[i], want) {
			t.Errorf("ignored is %q, want %q among it", s.Ignored, want)
		}
	}
}

// TestSettings_budget: a project's file lowers what the user's own says, and does not raise it.
func TestSettings_budget(t *testing.T) {
	for _, c := range []struct {
		user, project string
		want          Budget
		ignored       int
	}{
		{"", "", Budget{}, 0},
		{"budget = {task = 2, day = 10.5}", "", Budget{2, 10.5}, 0},
		{"", "budget = {task = 2, day = 10.5}", Budget{2, 10.5}, 0},
		{"budget = {task = 2, day = 10}", "budget = {task = 1.5, day = 10}", Budget{1.5, 10}, 0},
		{"budget = {task = 2, day = 10}", "budget = {task = 3, day = 11}", Budget{2, 10}, 2},
		{"budget = {day = 10}", "budget = {task = 3, week = 11}", Budget{3, 10}, 1},
		{"budget = {day = 10}", "'budget.day' = 11", Budget{0, 10}, 1},
	} {
		dir := tree(t, map[string]string{"user.toml": c.user, "project.toml": c.project})
		s := newSettings()
		if err := errors.Join(s.readFile(filepath.Join(dir, "user.toml"), false), s.readFile(filepath.Join(dir, "project.toml"), true)); err != nil {
			t.Errorf("%q and %q: %v", c.user, c.project, err)
		}
		if s.Budget != c.want || len(s.Ignored) != c.ignored {
			t.Errorf("%q and %q are %+v, ignored %q; want %+v, ignored %d", c.user, c.project, s.Budget, s.Ignored, c.want, c.ignored)
		}
	}
}

func TestSettings_wrong(t *testing.T) {
	for name, text := range map[string]string{
		"policy": "policy = 'none'", "type": "policy = 3", "lease": "lease = '2 days'", "long lease": "lease = '48h'", "lease as number": "lease = 10",
		"skills": "skills = [1]", "slug": "project = 'Big One'", "syntax": "policy = ", "twice": "policy = 'trust'\npolicy = 'trust'",
		"notify as text":   "notify = 'cmd arg'",
		"budget as number": "budget = 5", "budget as text": "budget = {day = '5'}", "no budget": "budget = {day = 0}", "endless budget": "budget = {task = inf}", "no number": "budget = {day = nan}",
	} {
		dir := tree(t, map[string]string{"config.toml": text})
		if err := newSettings().readFile(filepath.Join(dir, "config.toml"), false); err == nil || !strings.Contains(err.Error(), "config.toml") {
			t.Errorf("%s: reading %q = %v", name, text, err)
		}
	}
	if err := newSettings().readFile(filepath.Join(t.TempDir(), "config.toml"), true); err != nil {
		t.Errorf("a file that is not there: %v", err)
	}
}

// A project's own file may name a server. A file it could bring along, with forged answers.
func TestSettings_boardOfAProject(t *testing.T) {
	for value, want := range map[string]bool{
		`"https://bossman.example.org"`: true, `"http://127.0.0.1:7337"`: true, `"sub"`: false, `"data/board.db"`: false, `"../other"`: false, `"/etc"`: false, `""`: false, `["https://x"]`: false,
	} {
		dir := tree(t, map[string]string{".bossman/config.toml": "board = " + value})
		s := newSettings()
		if err := s.readFile(projectFile(dir), true); err != nil {
			t.Errorf("%s: %v", value, err)
		}
		if got := s.Board != ""; got != want || want != (len(s.Ignored) == 0) {
			t.Errorf("board = %s: %q, ignored %q", value, s.Board, s.Ignored)
		}
	}
}

// What a project brings under the name of its configuration is a regular file inside it.
func TestSettings_projectFile(t *testing.T) {
	other := tree(t, map[string]string{"config.toml": "project = 'theirs'", "huge": strings.Repeat("#\n", 1<<20)})
	for name, c := range map[string]struct {
		make func(path string) error
		want string
	}{
		"a link inside":      {func(path string) error { return os.Symlink("../mine.toml", path) }, ""},
		"a link that leaves": {func(path string) error { return os.Symlink(filepath.Join(other, "config.toml"), path) }, "escapes"},
		"a device":           {func(path string) error { return os.Symlink("/dev/zero", path) }, "escapes"},
		"a pipe":             {func(path string) error { return exec.Command("mkfifo", path).Run() }, "not a regular file"},
		"a directory":        {func(path string) error { return os.Mkdir(path, 0o700) }, "not a regular file"},
		"a huge file":        {func(path string) error { return os.Link(filepath.Join(other, "huge"), path) }, "at most 64 KiB"},
	} {
		dir := tree(t, map[string]string{".bossman/x": "", "mine.toml": "project = 'mine'"})
		if err := c.make(projectFile(dir)); err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		s := newSettings()
		err := s.readFile(projectFile(dir), true)
		if c.want == "" && (err != nil || s.Project != "mine") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: project %q, %v, want an error with %q", name, s.Project, err, c.want)
		}
	}
}

func TestSettings_fileThatEverybodyWrites(t *testing.T) {
	dir := tree(t, map[string]string{"user.toml": "policy = 'trust'\nnotify = ['cmd']\nboard = 'https://b.example.org'\ndb = 'postgres://h/d'\n[safe]\ndirectory = ['/x']\n"})
	path := filepath.Join(dir, "user.toml")
	for mode, taken := range map[os.FileMode]bool{0o600: true, 0o644: true, 0o664: true, 0o646: false, 0o666: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		s := newSettings()
		if err := s.readFile(path, false); err != nil {
			t.Fatal(err)
		}
		if got := len(s.Notify) > 0; got != taken || (s.Board != "") != taken || (s.DB != "") != taken || (len(s.safe) > 0) != taken || s.Policy != "trust" || taken != (len(s.Ignored) == 0) {
			t.Errorf("mode %o: notify %q, policy %s, ignored %q", mode, s.Notify, s.Policy, s.Ignored)
		}
	}
}

func TestHidePassword(t *testing.T) {
	for dsn, want := range map[string]string{
		"postgres://u:secret@h/d":            "postgres://u:xxxxx@h/d",
		"postgres://h/d?password=secret&a=b": "postgres://h/d?a=b&password=xxxxx",
		"postgres://u@h/d":                   "postgres://u@h/d",
		"postgres://u:se%zzcret@h/d":         "(not an address)",
		"":                                   "",
	} {
		if got := HidePassword(auth.Secret(dsn)); got != want {
			t.Errorf("HidePassword(%q) = %q, want %q", dsn, got, want)
		}
	}
}
