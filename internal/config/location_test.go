package config

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bossman-dev/bossman/board"
)

// tree makes files below a directory; a name that ends in / is a directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		dir := filepath.Dir(path)
		if name[len(name)-1] == '/' {
			dir = path
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if dir != path {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

func TestLocate(t *testing.T) {
	root := tree(t, map[string]string{
		"home/web/.git/HEAD": "ref: refs/heads/main", "home/web/.git/objects/": "", "home/web/.git/refs/": "", "home/web/a/b/": "",
		"home/web/.bossman/config.toml":   "",
		"home/web/.git/worktrees/wt/HEAD": "x", "home/web/.git/worktrees/wt/commondir": "../..\n",
		"home/wt/.git": "gitdir: ../web/.git/worktrees/wt\n", "home/wt/deep/": "",
		"home/bare/.bare/HEAD": "x", "home/bare/.bare/objects/": "", "home/bare/.bare/refs/": "", "home/bare/.git": "gitdir: .bare",
		"home/tool.git/HEAD": "x", "home/tool.git/objects/": "", "home/tool.git/refs/": "",
		"home/empty/.git/": "", "home/plain/x/": "", "home/marked/.bossman/": "", "home/marked/sub/": "",
		"home/lost/.git": "gitdir: /nowhere", "home/odd/.git": "not a git file",
		"srv/.bossman/board.db": "", "srv/app/": "", "srv/x.git/HEAD": "x", "srv/x.git/objects/": "", "srv/x.git/refs/": "", "home/.bossman/": "", "home/file": "",
	})
	t.Setenv("HOME", filepath.Join(root, "home"))
	for _, test := range []struct{ from, path, root, name string }{
		{"home/web", "home/web/.git/bossman/board.db", "home/web", "web"},
		{"home/web/a/b", "home/web/.git/bossman/board.db", "home/web", "web"},
		{"home/web/.git", "home/web/.git/bossman/board.db", "home/web", "web"},
		{"home/wt/deep", "home/web/.git/bossman/board.db", "home/wt", "web"},
		{"home/bare", "home/bare/.bare/bossman/board.db", "home/bare", "bare"},
		{"home/tool.git", "home/tool.git/bossman/board.db", "home/tool.git", "tool"},
		{"home/empty", "home/empty/.bossman/board.db", "home/empty", "empty"},
		{"home/lost", "home/lost/.bossman/board.db", "home/lost", "lost"},
		{"home/odd", "home/odd/.bossman/board.db", "home/odd", "odd"},
		{"home/plain/x", "home/plain/x/.bossman/board.db", "home/plain/x", "x"},
		{"home/marked/sub", "home/marked/.bossman/board.db", "home/marked", "marked"},
		{"srv/app", "srv/.bossman/board.db", "srv", "srv"},
		{"srv/x.git/refs", "srv/.bossman/board.db", "srv", "srv"},
	} {
		got, err := locate(filepath.Join(root, test.from), "a test", filepath.Join(root, "home"))
		repository := filepath.Dir(filepath.Join(root, test.path))
		if filepath.Base(repository) == ".bossman" || filepath.Base(repository) == "bossman" {
			repository = filepath.Dir(repository)
		}
		want := Location{
			Path: filepath.Join(root, test.path), Repository: repository, Root: filepath.Join(root, test.root), Name: test.name,
			From: filepath.Join(root, test.from), By: "a test",
		}
		got.repo = nil
		if err != nil || got != want {
			t.Errorf("locate(%s) = %+v, %v, want %+v", test.from, got, err, want)
		}
	}
	for _, from := range []string{"home", ".", "/"} {
		if from != "/" {
			from = filepath.Join(root, from)
		}
		_, err := locate(from, "a test", filepath.Join(root, "home"))
		if none, ok := errors.AsType[*NoBoardError](err); !ok || none.From != filepath.Clean(from) {
			t.Errorf("locate(%s) = %v, want a NoBoardError", from, err)
		}
	}
	for _, from := range []string{"home/nowhere", "home/file"} {
		if _, err := locate(filepath.Join(root, from), "a test", ""); err == nil {
			t.Errorf("locate(%s) found a board", from)
		}
	}
}

func TestSlug(t *testing.T) {
	for name, want := range map[string]string{
		"web": "web", "My-Cool_App": "mycoolapp", "2048": "board", "2048-game": "game", "a-very-long-directory-name": "averylongdirecto",
		"日本": "board", "été": "t", "": "board", "x2": "x2",
	} {
		if got := slug(name); got != want || !board.ValidSlug(got) {
			t.Errorf("slug(%q) = %q, want %q", name, got, want)
		}
	}
}
