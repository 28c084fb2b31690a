package main

import (
	"strings"
	"testing"
)

// The packages for Linux have everything in its place, and the unit starts the program that they install.
func TestLinuxFiles(t *testing.T) {
	t.Chdir("../..") // where a release is made
	files, err := linuxFiles(file{"bossman", []byte("text"), 0o755}, []file{
		{"LICENSE", nil, 0o644},
		{"README.md", nil, 0o644},
		{"completions/_bossman", nil, 0o644},
		{"completions/bossman.bash", nil, 0o644},
		{"completions/bossman.fish", nil, 0o644},
		{"completions/bossman.ps1", nil, 0o644},
		{"man/man1/bossman.1", []byte("page"), 0o644},
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.name)
		if strings.HasSuffix(f.name, ".service") && !strings.Contains(string(f.text), "ExecStart=/usr/bin/bossman serve") {
			t.Errorf("the unit starts another program:\n%s", f.text)
		}
		if strings.Contains(string(f.text), "/usr/local") {
			t.Errorf("%s mentions /usr/local, where a package installs nothing", f.name)
		}
	}
	const want = `/usr/bin/bossman
/usr/share/doc/bossman/copyright
/usr/share/licenses/bossman/LICENSE
/usr/share/doc/bossman/README.md
/usr/share/zsh/vendor-completions/_bossman
/usr/share/zsh/site-functions/_bossman
/usr/share/bash-completion/completions/bossman
/usr/share/fish/vendor_completions.d/bossman.fish
/usr/share/man/man1/bossman.1.gz
/usr/lib/systemd/system/bossman.service
/etc/logrotate.d/bossman
/usr/share/doc/bossman/bossman.env.example`
	if got := strings.Join(names, "\n"); got != want {
		t.Errorf("the files are\n%s\nwant\n%s", got, want)
	}
}

func TestSection(t *testing.T) {
	const text = "# Changelog\n\n## Unreleased\n\nnew\n\n## 1.2.0 - 2027-01-31\n\n### Added\n\nold\n"
	for version, want := range map[string]string{"Unreleased": "new\n", "1.2.0": "### Added\n\nold\n", "1.2": ""} {
		if got, ok := section(text, version); got != want || ok != (want != "") {
			t.Errorf("section(%s) = %q, %t, want %q", version, got, ok, want)
		}
	}
}
