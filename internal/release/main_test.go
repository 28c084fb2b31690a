package main

import (
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// testRelease is a release into a new directory.
func testRelease(t *testing.T) *release {
	t.Helper()
	return &release{out: t.TempDir(), version: "1.2.3", time: time.Unix(1_700_000_000, 0).UTC(), licenseText: []byte("the license\n")}
}

// read returns a file that was written.
func (r *release) read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.out, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Archives and packages have the same bytes whenever and wherever they are written.
func TestArchives_same(t *testing.T) {
	program := file{"bossman", []byte("text"), 0o755}
	linux := target{"linux", "amd64"}
	var last map[string]string
	for i := range 2 {
		r := testRelease(t)
		for _, err := range []error{
			r.writeTar(filepath.Join(r.out, "a.tar.gz"), "bossman_1.2.3", []file{program}),
			r.writeZip(filepath.Join(r.out, "a.zip"), "bossman_1.2.3", []file{program}),
			r.writeBundle(linux, program), r.writeNPMPlatform(linux, program), r.writeNPM(targets), r.writeWheel(linux, program),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		sums, err := r.sums("*")
		if err != nil {
			t.Fatal(err)
		}
		if i == 1 && !maps.Equal(sums, last) || len(sums) != 6 {
			t.Errorf("two writes differ:\n%v\n%v", last, sums)
		}
		last = sums
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
