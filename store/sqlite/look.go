package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/bossman-dev/bossman/board"
)

// A State is what Look finds.
type State struct {
	// Exists is set if there is a file with a board in it.
	Exists bool
	// Schema is the version of the file's schema, Newest that of this program.
	Schema, Newest int64
	// ReadOnly is why this process cannot write the board; nil if it can.
	ReadOnly error
}

// Look looks at the board in the file at path. Unlike Open it does not migrate an older file. Nothing else in this
// process may have the file open.
func Look(ctx context.Context, path string) (State, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return State{}, err
	}
	s := &Store{path: path, opt: (*Options)(nil).withDefaults()}
	var state State
	if state.Newest, err = newestMigration(s.opt.migrations); err != nil {
		return state, err
	}
	if err := s.checkFileSystem(); err != nil {
		return state, err
	}
	state.ReadOnly = s.refusal()
	info, err := plainFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return state, nil
	}
	if err != nil {
		return state, fmt.Errorf("%w: %w", board.ErrUnavailable, err)
	}
	f, version, err := s.openReadable(ctx, info)
	if err != nil {
		return state, asFull(err)
	}
	f.close()
	state.Exists, state.Schema = version > 0, version
	return state, nil
}

// refusal is the system's error about a write to the board's directory or file, nil if this process may write
// both.
func (s *Store) refusal() error {
	dir, err := boardDir(s.path, false)
	if err != nil {
		if isReadOnly(err) {
			return err
		}
		return nil
	}
	defer dir.Close()
	if err := tryWrite(dir); isReadOnly(err) {
		return fmt.Errorf("%q: %w", filepath.Dir(s.path), err)
	}
	f, err := dir.OpenFile(filepath.Base(s.path), os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if isReadOnly(err) {
			return fmt.Errorf("%q: %w", s.path, withoutPath(err))
		}
		return nil
	}
	return f.Close()
}

// withoutPath is an error of the system without the operation and the path.
func withoutPath(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
