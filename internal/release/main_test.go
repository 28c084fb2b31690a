package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// Archives have the same bytes whenever and wherever they are written.
func TestArchives_same(t *testing.T) {
	r := &release{version: "1.2.3", time: time.Unix(1_700_000_000, 0).UTC()}
	var last [2][]byte
	for i := range 2 {
		dir := t.TempDir()
		program := filepath.Join(dir, "program")
		if err := os.WriteFile(program, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(program, time.Time{}, time.Unix(int64(i)*1000, 0)); err != nil {
			t.Fatal(err)
		}
		files := []file{{"bossman", program, 0o755}}
		for j, write := range []func(string, string, []file) error{r.writeTar, r.writeZip} {
			path := filepath.Join(dir, "archive")
			if err := write(path, "bossman_1.2.3", files); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if i == 1 && !bytes.Equal(text, last[j]) {
				t.Errorf("two archives of kind %d differ", j)
			}
			last[j] = text
		}
	}
}

// The SBOM names every module that is linked, by the version that is linked.
func TestBill(t *testing.T) {
	r := &release{version: "1.2.3", revision: "abc"}
	b := r.bill(&debug.BuildInfo{
		GoVersion: "go1.26.1", Main: debug.Module{Path: "example.org/main"},
		Deps: []*debug.Module{
			{Path: "example.org/z", Version: "v1.0.0", Sum: "h1:AQI="},
			{Path: "example.org/a", Version: "v0.1.0", Replace: &debug.Module{Path: "example.org/fork", Version: "v0.2.0"}},
		},
	}, "00ff")
	var refs []string
	for _, c := range b.Components {
		refs = append(refs, c.PURL)
	}
	const want = "pkg:golang/example.org/fork@v0.2.0 pkg:golang/example.org/z@v1.0.0 pkg:golang/stdlib@1.26.1"
	if got := strings.Join(refs, " "); got != want || len(b.Dependencies) != 1 || len(b.Dependencies[0].On) != 3 || b.Metadata.Component.Hashes[0].Content != "00ff" {
		t.Errorf("bill = %s, %+v", got, b)
	}
	if p := b.Components[1].Properties; len(p) != 1 || p[0].Value != "0102" {
		t.Errorf("the checksum of a module is %v", p)
	}
}
