package boardcli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/store/sqlite"
)

// A directory gets as many files as it takes, and each of them can be imported; a file gets
// what fits, and the command says that there may be more.
func TestArchive_files(t *testing.T) {
	defer func(n int) { maxFile = n }(maxFile)
	maxFile = 2
	ctx := t.Context()
	s, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "board.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := board.New(s, &board.Options{Home: &board.Project{Slug: "web", Policy: board.PolicyTrust}})
	ada := board.Actor{Principal: "ada", Person: true}
	for range 8 {
		made, _, err := b.Create(ctx, ada, board.NewTask{Project: "web", Title: "t"}, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Cancel(ctx, ada, made.ID, "no", board.DependentsKeep); err != nil {
			t.Fatal(err)
		}
	}
	archive := func(to string) (said string) {
		out, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		c := console.New(os.Stdin, out, out, func(string) string { return "" })
		cmd := Archive(c, func(context.Context) (Desk, error) { return Desk{Board: b, Project: "web", Actor: ada}, nil })
		cmd.SetArgs([]string{"--older-than", "0s", "--to", to})
		if err := cmd.ExecuteContext(ctx); err != nil {
			t.Fatal(err)
		}
		if err := c.Out.Flush(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	file := filepath.Join(t.TempDir(), "one.gz")
	if said := archive(file); !strings.Contains(said, "Archived 2 tasks of web: "+file) || !strings.Contains(said, "There may be more") {
		t.Errorf("to a file: %s", said)
	}
	dir := filepath.Join(t.TempDir(), "many")
	if said := archive(dir + "/"); !strings.Contains(said, "Archived 6 tasks of web: "+dir+"\n") || strings.Contains(said, "more") {
		t.Errorf("to a directory: %s", said)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.jsonl.gz"))
	if err != nil || len(names) != 3 {
		t.Fatalf("files: %v, %v, want three", names, err)
	}
	for _, name := range append(names, file) {
		packed, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines, _, err := unpack(packed)
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.Import(ctx, ada, "web", func(yield func([]byte, error) bool) {
			for line := range strings.Lines(string(lines)) {
				if !yield([]byte(line), nil) {
					return
				}
			}
		}, nil)
		if err != nil || got.Made != 2 || !got.Kept {
			t.Errorf("import of %s: %d tasks, kept %v, %v", name, got.Made, got.Kept, err)
		}
	}
}
