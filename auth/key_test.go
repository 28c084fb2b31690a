package auth

import (
	"strings"
	"testing"
	"time"
)

func TestKey_text(t *testing.T) {
	id, text, hash := newKey()
	got, gotHash, ok := parseKey(text.Reveal())
	if !ok || got != id || gotHash != hash || len(text.Reveal()) != keyLen {
		t.Fatalf("parseKey(newKey()) = %q, %t", got, ok)
	}
	if err := CheckKey(text.Reveal()); err != nil {
		t.Errorf("CheckKey() = %v", err)
	}
	// One wrong character anywhere is noticed without asking anybody.
	s := text.Reveal()
	for i := range s {
		for _, c := range "a7Z_ \n" {
			if rune(s[i]) == c {
				continue
			}
			if _, _, ok := parseKey(s[:i] + string(c) + s[i+1:]); ok {
				t.Errorf("parseKey took the key with %q at %d", c, i)
			}
		}
		if _, _, ok := parseKey(s[:i]); ok {
			t.Errorf("parseKey took %d characters", i)
		}
	}
	for _, s := range []string{"", "bossman_", s + "a", strings.ToUpper(s), s + "\n", " " + s, s[:keyLen-1] + "\n", strings.Replace(s, "_", "\n", 2)} {
		if err := CheckKey(s); err == nil {
			t.Errorf("CheckKey(%q) = nil", s)
		}
	}
}

func TestKey_swapsAreNoticed(t *testing.T) {
	_, text, _ := newKey()
	s := text.Reveal()
	for i := len(keyPrefix); i+1 < len(s); i++ {
		swapped := s[:i] + string(s[i+1]) + string(s[i]) + s[i+2:]
		if _, _, ok := parseKey(swapped); ok && swapped != s {
			t.Errorf("parseKey took two characters swapped at %d", i)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	_, text, _ := newKey()
	f.Add(text.Reveal())
	f.Add("bossman_aaaaaaaaaaaa_")
	f.Fuzz(func(t *testing.T, s string) {
		id, _, ok := parseKey(s)
		if ok && (len(s) != keyLen || !strings.HasPrefix(s, keyPrefix+id+"_")) {
			t.Errorf("parseKey(%q) = %q", s, id)
		}
	})
}

func TestNewKey_check(t *testing.T) {
	now := time.Now()
	good := NewKey{Name: "n", Owner: "ada", Project: "web", Role: Worker}
	if err := good.check(now); err != nil {
		t.Fatalf("check() = %v", err)
	}
	for what, edit := range map[string]func(*NewKey){
		"no owner":              func(n *NewKey) { n.Owner = "" },
		"no name":               func(n *NewKey) { n.Name = "" },
		"a name that acts":      func(n *NewKey) { n.Name = "a\x1b[2J" },
		"a name turned round":   func(n *NewKey) { n.Owner = "ada\u202e" },
		"spaces around":         func(n *NewKey) { n.Owner = " ada" },
		"broken UTF-8":          func(n *NewKey) { n.Owner = "ada\xff" },
		"a long name":           func(n *NewKey) { n.Name = strings.Repeat("a", maxName+1) },
		"no project":            func(n *NewKey) { n.Project = "" },
		"not a slug":            func(n *NewKey) { n.Project = "Web" },
		"a long slug":           func(n *NewKey) { n.Project = strings.Repeat("a", 17) },
		"no role":               func(n *NewKey) { n.Role = None },
		"a role there is not":   func(n *NewKey) { n.Role = Admin + 1 },
		"expired when it began": func(n *NewKey) { n.Expires = now },
	} {
		n := good
		edit(&n)
		if err := n.check(now); err == nil {
			t.Errorf("%s: check() = nil", what)
		}
	}
}
