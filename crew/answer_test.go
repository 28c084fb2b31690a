package crew

import (
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
		if err := os.WriteFile(a.file(q), nil, 0o600); err != nil {
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
	if err := os.Symlink(precious, a.file(q)); err != nil {
		t.Skip(err)
	}
	if err := a.note(q, failedTry); err == nil {
		t.Error("a try is noted through a symbolic link")
	}
	if text, err := os.ReadFile(precious); err != nil || len(text) > 0 {
		t.Errorf("the file has %q, %v", text, err)
	}
}
