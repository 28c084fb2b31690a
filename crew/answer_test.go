package crew

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/bossman-dev/bossman/board"
)

func TestAnswerer_spent(t *testing.T) {
	for _, test := range []struct {
		notes string
		want  bool
	}{
		{"", false},
		{begunTry + failedTry, false},
		{begunTry + failedTry + begunTry + begunTry + failedTry, true},
		{begunTry + begunTry + begunTry + begunTry + begunTry, false},
		{begunTry + begunTry + begunTry + begunTry + begunTry + begunTry, true},
	} {
		a, q := &Answerer{dir: t.TempDir()}, board.Question{}
		if err := os.WriteFile(filepath.Join(a.dir, fileOf(q)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, note := range test.notes {
			if err := a.note(q, string(note)); err != nil {
				t.Fatal(err)
			}
		}
		if got := a.spent(q); got != test.want {
			t.Errorf("after %q it is spent: %v, want %v", test.notes, got, test.want)
		}
	}
}

// TestAnswerer_note: nothing is written through a symbolic link in place of a question's file.
func TestAnswerer_note(t *testing.T) {
	a, q := &Answerer{dir: t.TempDir()}, board.Question{}
	precious := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(precious, filepath.Join(a.dir, fileOf(q))); err != nil {
		t.Skip(err)
	}
	if err := a.note(q, failedTry); err == nil {
		t.Error("a try is noted through a symbolic link")
	}
	if text, err := os.ReadFile(precious); err != nil || len(text) > 0 {
		t.Errorf("the file has %q, %v", text, err)
	}
}

// TestAnswerer_forget: only files of questions are deleted, and none where a symbolic link leads that an
// agent has put in the place of their directory.
func TestAnswerer_forget(t *testing.T) {
	none := boardOf{}
	for _, exchanged := range []bool{false, true} {
		dir, victim := filepath.Join(t.TempDir(), "answers"), t.TempDir()
		for _, d := range []string{dir, victim} {
			if err := os.MkdirAll(filepath.Join(d, "empty"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(d, "q1-1"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if exchanged {
			if err := os.Rename(dir, dir+"-old"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(victim, dir); err != nil {
				t.Skip(err)
			}
		}
		a := &Answerer{dir: dir, r: &Runner{o: Options{Board: none}}}
		if _, _, err := a.next(t.Context()); (err != nil) != exchanged {
			t.Errorf("exchanged %t: next() = %v", exchanged, err)
		}
		if files, err := os.ReadDir(victim); err != nil || len(files) != 2 {
			t.Errorf("where the link leads are %v, %v", files, err)
		}
		if files, err := os.ReadDir(dir); !exchanged && (err != nil || len(files) != 1) {
			t.Errorf("the directory has %v, %v; want the one that is no question's", files, err)
		}
	}
}

// boardOf is a board without questions.
type boardOf struct{ Board }

func (boardOf) Questions(context.Context, board.QuestionFilter) ([]board.Question, error) {
	return nil, nil
}
