package auth

import "testing"

func TestRole_names(t *testing.T) {
	for r := Viewer; r <= Admin; r++ {
		if got, err := ParseRole(r.String()); err != nil || got != r {
			t.Errorf("ParseRole(%v) = %v, %v", r, got, err)
		}
		if r <= r-1 {
			t.Errorf("%v does not rise", r)
		}
	}
	for _, s := range []string{"", "none", "Admin", "root", "worker "} {
		if r, err := ParseRole(s); err == nil || r != None {
			t.Errorf("ParseRole(%q) = %v, %v", s, r, err)
		}
	}
	if Role(99).String() != "none" {
		t.Error("an unknown role has a name")
	}
}

func TestPrincipal_roles(t *testing.T) {
	p := &Principal{Grants: map[string]Role{"web": Lead, "*": Viewer, "shop": None}}
	for _, c := range []struct {
		project string
		least   Role
		want    bool
	}{
		{"web", Lead, true},
		{"web", Admin, false},
		{"shop", Viewer, true},
		{"shop", Worker, false},
		{"*", Viewer, true},
		{"*", Lead, false},
		{"web", None, false},
	} {
		if got := p.May(c.project, c.least); got != c.want {
			t.Errorf("May(%s, %v) = %t", c.project, c.least, got)
		}
	}
	if p.Best() != Lead || p.Role("web") != Lead || p.Role("else") != Viewer {
		t.Errorf("Best() = %v, Role(web) = %v, Role(else) = %v", p.Best(), p.Role("web"), p.Role("else"))
	}
	var nobody Principal
	if nobody.Best() != None || nobody.May("web", Viewer) {
		t.Error("a principal without grants may something")
	}
}
