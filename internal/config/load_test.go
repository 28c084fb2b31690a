package config

import (
	"path/filepath"
	"testing"

	"github.com/bossman-dev/bossman/internal/console"
)

func TestLoad(t *testing.T) {
	root := tree(t, map[string]string{
		"home/.config/bossman/config.toml": "policy = 'trust'\n",
		"home/web/.git/HEAD":               "x", "home/web/.git/objects/": "", "home/web/.git/refs/": "",
		"home/web/.bossman/config.toml": "project = 'shop'\n",
	})
	home := filepath.Join(root, "home")
	env := map[string]string{"HOME": home}
	load := func(flags Flags) (*Settings, error) {
		return Load(flags, func(name string) string { return env[name] })
	}

	s, err := load(Flags{Board: filepath.Join(home, "web")})
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Location()
	if want := filepath.Join(home, "web", ".git", "bossman", "board.db"); err != nil || l.Path != want || s.Project != "shop" || s.Policy != "trust" {
		t.Errorf("Load(web) = %+v, %v in %+v, want %s", l, err, s, want)
	}
	if s, err = load(Flags{Board: home}); err != nil {
		t.Fatalf("Load(home) = %v", err)
	}
	if _, err := s.Location(); console.CodeOf(err) != console.NotFound || console.NextOf(err) == "" {
		t.Errorf("Location in the home directory = %v, want a NoBoardError", err)
	}
	if s, err = load(Flags{Board: "https://bossman.example.org"}); err != nil || s.Board != "https://bossman.example.org" || s.Origin["board"] != "--board" {
		t.Errorf("Load(server) = %+v, %v", s, err)
	}
	if _, err := load(Flags{Project: "Big One"}); console.CodeOf(err) != console.Usage {
		t.Errorf("Load with an invalid project = %v, want a usage error", err)
	}
}
