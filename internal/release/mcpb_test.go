package main

import (
	"archive/zip"
	"io"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"
)

// unzip returns the files of a zip file.
func unzip(t *testing.T, path string) map[string]file {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	files := make(map[string]file)
	for _, f := range z.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		in.Close()
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = file{f.Name, text, f.Mode()}
	}
	return files
}

// The manifest of a bundle names the program that is in it, and the system it is for.
func TestBundle(t *testing.T) {
	for _, tt := range []struct {
		target   target
		platform string
	}{{target{"windows", "arm64"}, "win32"}, {target{"darwin", "arm64"}, "darwin"}} {
		r := testRelease(t)
		if err := r.writeBundle(tt.target, file{tt.target.program(), []byte("text"), 0o755}); err != nil {
			t.Fatal(err)
		}
		files := unzip(t, filepath.Join(r.out, r.archive(tt.target)+".mcpb"))
		var b bundle
		if err := json.Unmarshal(files["manifest.json"].text, &b, json.RejectUnknownMembers(true)); err != nil {
			t.Fatal(err)
		}
		if p := files[b.Server.EntryPoint]; string(p.text) != "text" || p.mode != 0o755 {
			t.Errorf("the entry point %s is %q, mode %v", b.Server.EntryPoint, p.text, p.mode)
		}
		if b.Server.Config.Command != "${__dirname}/"+b.Server.EntryPoint || b.Version != "1.2.3" || b.Compatibility.Platforms[0] != tt.platform {
			t.Errorf("manifest = %+v", b)
		}
	}
}
