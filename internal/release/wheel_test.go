package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// A wheel has the program as a script, and lists every file with its checksum.
func TestWheel(t *testing.T) {
	for _, tt := range targets {
		r := testRelease(t)
		if err := r.writeWheel(tt, file{tt.program(), []byte("text"), 0o755}); err != nil {
			t.Fatal(err)
		}
		paths, err := filepath.Glob(filepath.Join(r.out, "bossman-1.2.3-py3-none-*.whl"))
		if err != nil || len(paths) != 1 {
			t.Fatalf("wheels for %s: %v, %v", tt, paths, err)
		}
		files := unzip(t, paths[0])
		if p := files["bossman-1.2.3.data/scripts/"+tt.program()]; string(p.text) != "text" || p.mode != 0o755 {
			t.Errorf("the program for %s is %q, mode %v", tt, p.text, p.mode)
		}
		if m := string(files["bossman-1.2.3.dist-info/METADATA"].text); !strings.Contains(m, "\nVersion: 1.2.3\n") || !strings.Contains(m, "mcp-name: "+serverName+" ") {
			t.Errorf("METADATA = %s", m)
		}
		// The tags in the name, expanded, are those of the file WHEEL.
		_, tags, _ := strings.Cut(strings.TrimSuffix(filepath.Base(paths[0]), ".whl"), "-py3-none-")
		for tag := range strings.SplitSeq(tags, ".") {
			if !strings.Contains(string(files["bossman-1.2.3.dist-info/WHEEL"].text), "Tag: py3-none-"+tag+"\n") {
				t.Errorf("WHEEL has no tag %s", tag)
			}
		}
		const record = "bossman-1.2.3.dist-info/RECORD"
		lines, err := csv.NewReader(strings.NewReader(string(files[record].text))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			f, ok := files[line[0]]
			sum := sha256.Sum256(f.text)
			want := []string{line[0], "sha256=" + base64.RawURLEncoding.EncodeToString(sum[:]), fmt.Sprint(len(f.text))}
			if line[0] == record {
				want = []string{record, "", ""}
			}
			if !ok || strings.Join(line, " ") != strings.Join(want, " ") {
				t.Errorf("RECORD has %v, want %v", line, want)
			}
			delete(files, line[0])
		}
		if len(files) > 0 {
			t.Errorf("RECORD lacks %v", files)
		}
	}
}

func TestPythonVersion(t *testing.T) {
	for version, want := range map[string]string{"1.2.3": "1.2.3", "1.2.0-rc.1": "1.2.0rc1", "1.2.0-beta.2": "1.2.0b2", "1.2.0-alpha.1": "1.2.0a1", "1.2.0-x": "", "1.2": ""} {
		if got, err := pythonVersion(version); got != want || (err == nil) != (want != "") {
			t.Errorf("pythonVersion(%s) = %q, %v, want %q", version, got, err, want)
		}
	}
}
