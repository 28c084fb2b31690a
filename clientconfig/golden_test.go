package clientconfig

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite what is wanted in testdata")

// environment has what the samples need.
func environment(name string) (string, bool) {
	v, ok := map[string]string{"GITHUB_TOKEN": "ghp_1", "DSN": "postgres://db", "EMPTY": ""}[name]
	return v, ok
}

// unpack writes a sample's files, in which PROJECT is the project's folder.
func unpack(t *testing.T, files []txtar.File) Places {
	t.Helper()
	dir := t.TempDir()
	p := Places{OS: "linux", Home: filepath.Join(dir, "home"), Project: filepath.Join(dir, "project")}
	for _, f := range files {
		if !strings.Contains(f.Name, "/") {
			continue
		}
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		text := bytes.ReplaceAll(f.Data, []byte("PROJECT"), []byte(filepath.ToSlash(p.Project)))
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// Every client has a sample of its files, and what is read from them.
func TestRead_golden(t *testing.T) {
	for _, c := range Clients() {
		t.Run(c.ID, func(t *testing.T) {
			name := filepath.Join("testdata", c.ID+".txtar")
			sample, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatalf("a client without a sample: %v", err)
			}
			p := unpack(t, sample.Files)
			servers, err := c.Read(p)
			if err != nil {
				t.Fatal(err)
			}
			type entry struct {
				Read     Server  `json:"read"`
				Expanded *Server `json:"expanded,omitzero"`
				Error    string  `json:"error,omitzero"`
			}
			var got []entry
			for _, s := range servers {
				e := entry{Read: s}
				e.Expanded, err = s.Expand(Values{
					Getenv: environment, Home: p.Home,
					Input: func(in Input) (string, error) { return "answer to " + in.ID + in.Default, nil },
				})
				if err != nil {
					e.Error = err.Error()
				}
				got = append(got, e)
			}
			text, err := json.Marshal(got, jsontext.WithIndent("  "), json.Deterministic(true), json.OmitZeroStructFields(true))
			if err != nil {
				t.Fatal(err)
			}
			text = append(bytes.ReplaceAll(text, []byte(filepath.ToSlash(filepath.Dir(p.Home))), []byte("DIR")), '\n')
			want := &sample.Files[len(sample.Files)-1]
			if want.Name != "want" {
				t.Fatalf("%s does not end with what is wanted", name)
			}
			if *update {
				want.Data = text
				if err := os.WriteFile(name, txtar.Format(sample), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(text, want.Data) {
				t.Errorf("read\n%s\nwant\n%s", text, want.Data)
			}
		})
	}
}
