package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/bossman-dev/bossman/board"
	sqlite3 "modernc.org/sqlite/lib"
)

// A sandbox may let a process read the board's directory and not write it. SQLite then
// opens the file if its -wal and -shm are there, because another process has it open, and
// otherwise only as a file that nobody writes, which is true as long as they are not there.

// openReadable opens a file in the way that this process may, and returns the version of
// its schema.
func (s *Store) openReadable(ctx context.Context, info os.FileInfo) (*file, int64, error) {
	f, version, err := s.openVersion(ctx, info, false)
	if err == nil || !cannotWrite(err) || s.writable() {
		return f, version, err
	}
	if log, err := os.Stat(s.path + "-wal"); err == nil && log.Size() > 0 {
		return nil, 0, fmt.Errorf("%w, and what was written last cannot be read without writing", board.ErrReadOnly)
	}
	f, version, err = s.openVersion(ctx, info, true)
	if err == nil && f.changed(s.path) {
		f.close()
		return nil, 0, errChanged
	}
	return f, version, err
}

// openVersion opens a file and reads the version of its schema.
func (s *Store) openVersion(ctx context.Context, info os.FileInfo, frozen bool) (*file, int64, error) {
	f, err := openFile(s.path, info, s.opt.synchronous, frozen)
	if err != nil {
		return nil, 0, err
	}
	version, err := schemaVersion(ctx, f.db)
	if err != nil {
		f.close()
		return nil, 0, err
	}
	return f, version, nil
}

// errChanged means that a file was written that was opened as one that nobody writes.
var errChanged = fmt.Errorf("%w: the board was written while it was read; try again", board.ErrUnavailable)

// changed reports whether somebody has written to a frozen file since it was opened.
func (f *file) changed(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Size() != f.info.Size() || !info.ModTime().Equal(f.info.ModTime()) {
		return true
	}
	_, err = os.Stat(path + "-wal")
	return err == nil
}

// cannotWrite reports whether SQLite could not open a file because it needs to write
// beside it.
func cannotWrite(err error) bool {
	switch code(err) & 0xff {
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		return true
	}
	return false
}

// writable reports whether this process may write in the board's directory.
func (s *Store) writable() bool {
	dir, err := boardDir(s.path, false)
	if err != nil {
		return !isReadOnly(err)
	}
	defer dir.Close()
	return !isReadOnly(tryWrite(dir))
}

// tryWrite makes a file in a directory and removes it.
func tryWrite(dir *os.Root) error {
	name := ".writable-" + rand.Text()
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return withoutPath(err)
	}
	f.Close()
	_ = dir.Remove(name)
	return nil
}

// isReadOnly reports whether the system refused err's operation because this process may
// not write there.
func isReadOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// asReadOnly makes an error of the system say that the board cannot be written, if that is
// what it means.
func asReadOnly(err error) error {
	if isReadOnly(err) && !errors.Is(err, board.ErrReadOnly) {
		return fmt.Errorf("%w: %w", board.ErrReadOnly, err)
	}
	return err
}
