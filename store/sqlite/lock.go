package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// A lock is a mutex between the writers of all processes on this machine.
//
// It consists of two files. A writer locks .queue first, then .lock, and then unlocks
// .queue. So a process that writes in a loop cannot starve the process that waits for
// .lock: it has to compete for .queue with the others. With SQLite's own busy handler a
// waiting process can be starved hundreds of times in a row.
type lock struct {
	path string
	turn chan struct{} // serializes the writers of this process

	// Used by the holder of turn.
	queue, held *os.File
}

// A process that waits for .queue polls every lockPoll to twice lockPoll. The one that
// waits for .lock polls every lockSpin for the first maxSpins times.
const (
	lockPoll = 500 * time.Microsecond
	lockSpin = 50 * time.Microsecond
	maxSpins = 500
)

func newLock(path string) *lock { return &lock{path: path, turn: make(chan struct{}, 1)} }

// acquire waits for the lock and returns the function that releases it.
func (l *lock) acquire(ctx context.Context, wait time.Duration) (release func(), err error) {
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timeout.C:
		return nil, l.timedOut(wait)
	}
	if err := l.take(ctx, timeout.C, wait); err != nil {
		<-l.turn
		return nil, err
	}
	return func() {
		unlockFile(l.held)
		<-l.turn
	}, nil
}

// take locks both files and unlocks the first one. The next writer polls .lock more often:
// there is only one, and the time between two writers is lost.
func (l *lock) take(ctx context.Context, timeout <-chan time.Time, wait time.Duration) error {
	name := filepath.Base(l.path)
	try := func(f **os.File, name string, spins int) error {
		for {
			ok, err := tryFile(f, l.dir, name, tryLock)
			if ok || err != nil {
				return err
			}
			if spins > 0 && ctx.Err() == nil {
				spins--
				sleep(lockSpin)
				continue
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-timeout:
				return l.timedOut(wait)
			case <-time.After(lockPoll + rand.N(lockPoll)):
			}
		}
	}
	if err := try(&l.queue, name+".queue", 0); err != nil {
		return err
	}
	defer unlockFile(l.queue)
	return try(&l.held, name+".lock", maxSpins)
}

// timedOut is the error after waiting for too long.
func (l *lock) timedOut(wait time.Duration) error {
	return fmt.Errorf("%w: timed out after %v waiting for other writers to release %q", board.ErrUnavailable, wait, l.path+".lock")
}

// close closes the files. Nobody may hold the lock or wait for it.
func (l *lock) close() {
	for _, f := range []*os.File{l.queue, l.held} {
		if f != nil {
			f.Close()
		}
	}
	l.queue, l.held = nil, nil
}

// dir opens the directory of the board, and creates it if necessary.
func (l *lock) dir() (*os.Root, error) { return boardDir(l.path, true) }

// tryFile tries to lock a file in a directory, opening it if necessary, and reports whether it
// did.
func tryFile(f **os.File, open func() (*os.Root, error), name string, try func(*os.File) (bool, error)) (bool, error) {
	if *f == nil {
		dir, err := open()
		if err != nil {
			return false, fmt.Errorf("%w: %w", board.ErrUnavailable, asReadOnly(asFull(err)))
		}
		*f, err = openLock(dir, name)
		dir.Close()
		if err != nil {
			return false, err
		}
	}
	ok, err := try(*f)
	if !ok || err != nil {
		return false, err
	}
	// If the file was deleted, other processes lock a new one.
	mine, err := (*f).Stat()
	if err != nil {
		return false, err
	}
	if dir, err := open(); err == nil {
		defer dir.Close()
		if now, err := dir.Lstat(name); err == nil && os.SameFile(mine, now) {
			return true, nil
		}
	}
	(*f).Close()
	*f = nil
	return false, nil
}

// openLock opens a lock file, and creates it. It follows no symbolic link: that would create a
// file wherever the link leads.
func openLock(dir *os.Root, name string) (*os.File, error) {
	for range 100 {
		if info, err := dir.Lstat(name); err == nil && !info.Mode().IsRegular() {
			break
		}
		f, err := dir.OpenFile(name, os.O_CREATE|os.O_RDWR|nonBlocking, 0o600)
		if isReadOnly(err) {
			return nil, asReadOnly(err)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", board.ErrUnavailable, asFull(err))
		}
		opened, err := f.Stat()
		if there, err2 := dir.Lstat(name); err == nil && err2 == nil && opened.Mode().IsRegular() && os.SameFile(opened, there) {
			return f, nil
		}
		f.Close() // it was deleted, or exchanged
	}
	return nil, fmt.Errorf("%w: %q is not a regular file", board.ErrUnavailable, filepath.Join(dir.Name(), name))
}

func unlockFile(f *os.File) {
	// Ignore the error: closing the file also unlocks it.
	_ = unlock(f)
}
