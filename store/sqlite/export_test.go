package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/bossman-dev/bossman/board"
)

// InsertCall records a call of a claim without looking whether it is still there.
func (s *Store) InsertCall(ctx context.Context, a board.Admission, c board.Claim) (call board.Call, err error) {
	err = s.Write(ctx, func(w board.Tx) error {
		t := w.(*tx)
		id, err := t.pack(c.Task)
		if err != nil {
			return err
		}
		now := t.now()
		call.BeganAt, call.Deadline = fromMicros(now), fromMicros(now+micros(min(a.Limit, c.Lease)))
		call.ID, _, err = t.insertCall(a, id, c.Worker.Name, now, call.Deadline.UnixMicro())
		return err
	})
	return call, err
}

// OpenEmpty opens a new board for a test that does much with it and does not end the
// process: what it commits need not be on disk. The file exists already, since creating
// its tables takes longer than most tests.
func OpenEmpty(t *testing.T) *Store {
	t.Helper()
	file, err := emptyFile()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "board.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), path, &Options{synchronous: "OFF"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// emptyFile is a file with all tables and nothing in them.
var emptyFile = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "bossman-sqlite-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "board.db")
	s, err := Open(context.Background(), path, nil)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := s.prepareLocked(context.Background(), 0); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
