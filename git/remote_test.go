package git_test

import (
	"testing"

	"github.com/bossman-dev/bossman/git"
)

func TestRemoteName(t *testing.T) {
	for remote, want := range map[string]string{
		"https://github.com/acme/web.git":                  "github.com/acme/web",
		"https://ada:secret@GitHub.com/acme/web":           "github.com/acme/web",
		"https://token@github.com:443/acme/web.git/?a=b#c": "github.com/acme/web",
		"git@github.com:acme/web.git":                      "github.com/acme/web",
		"ada:secret@github.com:acme/web":                   "github.com/acme/web",
		"ssh://git@github.com:22/acme/web/":                "github.com/acme/web",
		"/srv/git/web.git":                                 "/srv/git/web",
		"file:///srv/git/web.git":                          "/srv/git/web",
		"../web.git":                                       "/src/web",
		"https://ada:sec%zzret@github.com/acme/web":        "",
		"": "",
	} {
		if got := git.RemoteName(remote, "/src/clone/.git"); got != want {
			t.Errorf("RemoteName(%q) = %q, want %q", remote, got, want)
		}
	}
}

func TestRemote(t *testing.T) {
	r, dir := newRepo(t)
	if got := r.Remote(); got != "" {
		t.Errorf("without a remote: %q", got)
	}
	sh(t, dir, "git remote add fork https://example.org/fork.git")
	if got := r.Remote(); got != "example.org/fork" {
		t.Errorf("the only remote: %q", got)
	}
	sh(t, dir, "git remote add origin https://ada:secret@example.org/web.git")
	if got := r.Remote(); got != "example.org/web" {
		t.Errorf("origin: %q", got)
	}
}
