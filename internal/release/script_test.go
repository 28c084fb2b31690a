package main

import (
	"bytes"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares text with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; go test ./internal/release -update rewrites it. Got:\n%s", name, got)
	}
}

func TestFormula(t *testing.T) {
	r := testRelease(t)
	sums := make(map[string]string)
	for _, tt := range targets {
		sums[r.archive(tt)+".tar.gz"] = strings.Repeat("0", 52) + "-" + tt.os + tt.arch
	}
	if err := r.writeScript("bossman.rb", formula, sums, 0o644); err != nil {
		t.Fatal(err)
	}
	golden(t, "bossman.rb", r.read(t, "bossman.rb"))
	delete(sums, r.archive(target{"darwin", "arm64"})+".tar.gz")
	if err := r.writeScript("bossman.rb", formula, sums, 0o644); err == nil {
		t.Error("a formula was written without the archive for darwin/arm64")
	}
}

func TestServer(t *testing.T) {
	r := testRelease(t)
	if err := r.writeServer(); err != nil {
		t.Fatal(err)
	}
	golden(t, "server.json", r.read(t, "server.json"))
	if len(summary) > 100 {
		t.Errorf("the summary has %d characters, and the registry accepts 100", len(summary))
	}
}

// The script installs what the archive of its release has, and nothing at all otherwise.
func TestInstall(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("the script is for Linux and macOS")
	}
	r := testRelease(t)
	here := target{runtime.GOOS, runtime.GOARCH}
	name := r.archive(here) + ".tar.gz"
	if err := r.writeTar(filepath.Join(r.out, name), r.archive(here), []file{
		{"bossman", []byte("#!/bin/sh\necho bossman 1.2.3\n"), 0o755},
		{"completions/_bossman", []byte("zsh"), 0o644},
		{"completions/bossman.bash", []byte("bash"), 0o644},
		{"completions/bossman.fish", []byte("fish"), 0o644},
		{"man/man1/bossman.1", []byte("man"), 0o644},
	}); err != nil {
		t.Fatal(err)
	}
	sums, err := r.sums("*.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.writeScript("install.sh", installScript, sums, 0o755); err != nil {
		t.Fatal(err)
	}
	archive := r.read(t, name)

	for _, tt := range []struct {
		name  string
		serve []byte // the archive
		sed   string // a change of the script
		uname string
		fails string // part of the error, or empty
	}{
		{name: "good", serve: archive},
		{name: "changed archive", serve: append(bytes.Clone(archive), 'x'), fails: "has the checksum"},
		{name: "missing archive", fails: "cannot download"},
		{name: "no archive for this system", serve: archive, sed: "s/" + name + "/other.tar.gz/", fails: "this release has no archive"},
		{name: "cut off", serve: archive, sed: "/^main$/d"},
		{name: "unknown processor", serve: archive, uname: "pdp11", fails: "no archive for pdp11"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if tt.serve == nil || req.URL.Path != "/"+name {
					http.NotFound(w, req)
					return
				}
				_, _ = w.Write(tt.serve)
			}))
			defer server.Close()
			home, bin := t.TempDir(), t.TempDir()
			path := os.Getenv("PATH")
			if tt.uname != "" {
				if err := os.WriteFile(filepath.Join(bin, "uname"), []byte("#!/bin/sh\n[ $1 = -s ] && echo Linux || echo "+tt.uname+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
				path = bin + ":" + path
			}
			cmd := exec.Command("sh")
			script := r.read(t, "install.sh")
			if tt.sed != "" {
				edit := exec.Command("sed", tt.sed)
				edit.Stdin = bytes.NewReader(script)
				changed, err := edit.Output()
				if err != nil || bytes.Equal(changed, script) {
					t.Fatalf("sed %s: %v", tt.sed, err)
				}
				script = changed
			}
			cmd.Stdin = bytes.NewReader(script)
			cmd.Env = []string{"HOME=" + home, "PATH=" + path, "TMPDIR=" + t.TempDir(), "BOSSMAN_URL=" + server.URL}
			out, err := cmd.CombinedOutput()
			if (err != nil) != (tt.fails != "") || !strings.Contains(string(out), tt.fails) {
				t.Fatalf("the script: %v\n%s", err, out)
			}
			installed := func(name string) string {
				text, _ := os.ReadFile(filepath.Join(home, ".local", filepath.FromSlash(name)))
				return string(text)
			}
			if tt.name != "good" {
				if entries, err := os.ReadDir(home); err != nil || len(entries) > 0 {
					t.Errorf("the home directory has %v, %v", entries, err)
				}
				return
			}
			if out, err := exec.Command(filepath.Join(home, ".local", "bin", "bossman")).Output(); err != nil || string(out) != "bossman 1.2.3\n" {
				t.Errorf("the program: %q, %v", out, err)
			}
			for name, want := range map[string]string{
				"share/man/man1/bossman.1": "man", "share/bash-completion/completions/bossman": "bash",
				"share/zsh/site-functions/_bossman": "zsh", "share/fish/vendor_completions.d/bossman.fish": "fish",
			} {
				if got := installed(name); got != want {
					t.Errorf("%s = %q, want %q", name, got, want)
				}
			}
			if !strings.Contains(string(out), "Add it to your PATH") {
				t.Errorf("the script does not say that the PATH lacks the directory:\n%s", out)
			}
		})
	}
}
