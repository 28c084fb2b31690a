package config

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A project may bring a symbolic link as the directory in which Bossman keeps its files. Nothing is
// made or deleted where it leads, whatever is kept.
func TestNothingIsKeptThroughASymbolicLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs symbolic links")
	}
	repository := func(name string, files map[string]string) {
		for _, path := range []string{"objects/", "refs/"} {
			files[name+"/.git/"+path] = ""
		}
		files[name+"/.git/HEAD"] = "ref: refs/heads/main\n"
	}
	files := map[string]string{"victim/link": "precious", "victim/user-check": "precious", "victim/trusted": "precious", "config/bossman/config.toml": "[check]\ncommand = [\"true\"]\n"}
	repository("evil", files)
	repository("inside", files)
	repository("board", files)
	root := tree(t, files)
	symlink(t, filepath.Join(root, "victim"), filepath.Join(root, "evil/.git/bossman"))
	symlink(t, "refs", filepath.Join(root, "inside/.git/bossman"))
	getenv := func(key string) string {
		return map[string]string{"HOME": root, "XDG_CONFIG_HOME": filepath.Join(root, "config"), "XDG_STATE_HOME": filepath.Join(root, "state")}[key]
	}
	refused := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "symbolic link") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, dir := range []string{"evil", "inside"} {
		_, err := CurrentLink(Flags{Board: filepath.Join(root, dir)}, getenv)
		refused("a link in "+dir, err)
		l := &Link{Clone: filepath.Join(root, dir, ".git")}
		refused("a link that is set in "+dir, l.Set(filepath.Join(root, "board")))
		_, err = l.Remove()
		refused("a link that is removed in "+dir, err)
		l = &Link{Clone: filepath.Join(root, "board", ".git")}
		refused("a link to "+dir, l.Set(filepath.Join(root, dir)))

		if text, err := os.ReadFile(filepath.Join(root, "victim/link")); dir == "evil" && string(text) != "precious" {
			t.Errorf("the file has %q, %v", text, err)
		}
		os.Remove(filepath.Join(root, "victim/link")) // it would be one that nobody made
		s, err := Load(Flags{Board: filepath.Join(root, "board")}, getenv)
		if err != nil {
			t.Fatal(err)
		}
		state, err := s.CheckAt(filepath.Join(root, dir))
		if err != nil || state.InForce == nil {
			t.Errorf("the check in %s is %+v, %v", dir, state, err)
		}
		refused("what is accepted in "+dir, state.Trust.Accept(nil, "ada", state.Trust.At))
		for _, m := range state.Trust.marks {
			m.remove()
		}
	}
	for path, want := range map[string]int{"victim": 2, "inside/.git/refs": 0, "board/.git/bossman/linked": 2} {
		entries, err := os.ReadDir(filepath.Join(root, path))
		if err != nil || len(entries) != want {
			t.Errorf("%s has %v, %v; want %d files", path, entries, err, want)
		}
	}
	for _, name := range []string{"user-check", "trusted"} {
		if text, err := os.ReadFile(filepath.Join(root, "victim", name)); string(text) != "precious" {
			t.Errorf("%s has %q, %v", name, text, err)
		}
	}
}

func symlink(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}
