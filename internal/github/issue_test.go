package github

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestIssues: what gh answers about another repository is refused, and so is what has no end.
func TestIssues(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"another repository": {`echo '[{"number":1,"url":"https://github.com/acme/api/issues/1"}]'`, "another repository"},
		"another number":     {`echo '[{"number":1,"url":"https://github.com/acme/web/issues/2"}]'`, "another repository"},
		"no https":           {`echo '[{"number":1,"url":"http://github.com/acme/web/issues/1"}]'`, "another repository"},
		"no JSON":            {`echo hello`, "not as expected"},
		"no end":             {`yes`, "64 MiB"},
		"a complaint":        {`echo 'HTTP 502' >&2; exit 1`, "HTTP 502"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "gh"), []byte("#!/bin/sh\n"+c.script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
		list, err := CLI{Repo: "acme/web"}.Issues(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %d issues, %v, want %q", name, len(list), err, c.want)
		}
	}
}

// TestIssue_Task: whatever an issue has, the board takes it.
func TestIssue_Task(t *testing.T) {
	for name, i := range map[string]Issue{
		"empty": {}, "long": {Title: strings.Repeat("ä", 5000), Body: strings.Repeat("ö\x00", 80<<10), Author: strings.Repeat("ü", 300)},
		"hidden": {Title: "a\n\u202eb\x1b", Body: "\u200b\r\n\x00", Author: "\x1b[31m"},
	} {
		i.Number, i.URL = 7, "https://github.com/acme/web/issues/7"
		got := i.Task()
		texts := got.Title + got.Description + got.Author
		if got.Title == "" || len(got.Title) > 200 || len(got.Description) > 20<<10 || got.Author == "" || len(got.Author) > 100 || !got.Hold || strings.ContainsAny(texts, "\x00\x1b\r\u202e") {
			t.Errorf("%s: %+v", name, got)
		}
		if got.Item != i.URL || !strings.HasPrefix(got.Description, "Issue "+i.URL+", by ") {
			t.Errorf("%s: not named after the issue: %.200q", name, got.Description)
		}
	}
}

func TestCLI_Has(t *testing.T) {
	t.Setenv("GH_HOST", "")
	const url = "https://github.com/acme/web/issues/7"
	for repo, want := range map[string]bool{
		"acme/web": true, "github.com/Acme/Web": true, "web": false, "acme/api": false, "ghe.example.org/acme/web": false, "": false,
	} {
		if got := (CLI{Repo: repo}).Has(url); got != want {
			t.Errorf("%q has %s: %v", repo, url, got)
		}
	}
	for _, bad := range []string{url + "/../../api/issues/1", "https://github.com/acme/web/pull/7", url + "\n", "https://evil@github.com/acme/web/issues/7", "https://evil.example/acme/web/issues/7", "--repo"} {
		if (CLI{Repo: "acme/web"}).Has(bad) {
			t.Errorf("acme/web has %q", bad)
		}
	}
	for repo, want := range map[string]bool{"acme/web": true, "github.com/acme/web": true, "acme": false, "/home/me/origin": false, "--repo=x/y": false, "a/b/c/d": false, "": false} {
		if got := ValidRepo(repo); got != want {
			t.Errorf("ValidRepo(%q) = %v", repo, got)
		}
	}
}
