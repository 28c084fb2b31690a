package board_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
)

func TestParseTarget(t *testing.T) {
	for text, want := range map[string]board.Target{
		"main":                 {Kind: board.TargetLocal, Branch: "main"},
		"refs/heads/team/main": {Kind: board.TargetLocal, Branch: "team/main"},
		"origin/main":          {Kind: board.TargetRemote, Remote: "origin", Branch: "main"},
		"origin/team/main":     {Kind: board.TargetRemote, Remote: "origin", Branch: "team/main"},
		"pr:main":              {Kind: board.TargetPR, Remote: "origin", Branch: "main"},
		"pr:release/1.x":       {Kind: board.TargetPR, Remote: "origin", Branch: "release/1.x"},
	} {
		got, err := board.ParseTarget(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("ParseTarget(%q) = %+v (%q), %v, want %+v", text, got, got, err, want)
		}
	}
	for _, text := range []string{
		"", "-d", "origin/-d", "-o/main", "pr:", "pr:-f", "pr:pr:main", "refs/heads/", "refs/main", "origin/", "/main", "a//b", "a/./b", "a..b", "a.lock", "x/y.lock", "a b", "a\tb",
		"a~1", "a^", "a:b", "a?b", "a*", "a[b", "a\\b", "@", "a@{1}", "a.", ".a", "HEAD", "origin/HEAD", "ä", "a\x7f", "$(id)", "a;b", "a'b", "+main", "main\n", "refs/tags/v1", strings.Repeat("a", 201),
	} {
		if got, err := board.ParseTarget(text); !errors.Is(err, board.ErrInvalid) {
			t.Errorf("ParseTarget(%q) = %+v, %v, want ErrInvalid", text, got, err)
		}
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"main", "origin/main", "pr:main", "refs/heads/a/b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		target, err := board.ParseTarget(s)
		if err != nil {
			return
		}
		again, err := board.ParseTarget(target.String())
		if err != nil || again != target {
			t.Errorf("ParseTarget(%q) = %+v, and of its text %q: %+v, %v", s, target, target, again, err)
		}
	})
}
