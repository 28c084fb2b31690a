package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// A lock lets one writer at a time through, of all processes on this machine.
//
// There are two files. Whoever wants .lock takes .queue first, and gives it back
// when it has both. So a process that writes again and again cannot take the lock
// from under one that waits for it: it has to draw for .queue with the others.
// SQLite's own busy handler lets that happen, hundreds of times in a row.
type lock struct {
	path string
	turn chan struct{} // this process's writers, in their order

	// For whoever has the turn.
	queue, held *os.File
}

// A waiting process looks again after lockPoll, and up to twice that by chance; the
// next in line after lockNap, the first maxNaps times.
const (
	lockPoll = 500 * time.Microsecond
	lockNap  = 50 * time.Microsecond
	maxNaps  = 500
)

func newLock(path string) *lock { return &lock{path: path, turn: make(chan struct{}, 1)} }

// acquire waits for the lock and gives the function that releases it.
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
		return nil, l.gaveUp(wait)
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

// take gets both files and gives the first back. The one that is next looks often
// for a while: there is only one of them, and time that nobody writes is lost.
func (l *lock) take(ctx context.Context, timeout <-chan time.Time, wait time.Duration) error {
	try := func(f **os.File, path string, naps int) error {
		for {
			ok, err := tryFile(f, path)
			if ok || err != nil {
				return err
			}
			if naps > 0 && ctx.Err() == nil {
				naps--
				nap(lockNap)
				continue
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-timeout:
				return l.gaveUp(wait)
			case <-time.After(lockPoll + rand.N(lockPoll)):
			}
		}
	}
	if err := try(&l.queue, l.path+".queue", 0); err != nil {
		return err
	}
	defer unlockFile(l.queue)
	return try(&l.held, l.path+".lock", maxNaps)
}

func (l *lock) gaveUp(wait time.Duration) error {
	return fmt.Errorf("%w: other writers kept %s.lock for %v", board.ErrUnavailable, l.path, wait)
}

// close is for when nobody holds the lock or wants it.
func (l *lock) close() {
	for _, f := range []*os.File{l.queue, l.held} {
		if f != nil {
			f.Close()
		}
	}
	l.queue, l.held = nil, nil
}

// tryFile locks the file at path, which it opens if need be, and reports whether
// it did.
func tryFile(f **os.File, path string) (bool, error) {
	if *f == nil {
		var err error
		if *f, err = openLock(path); err != nil {
			return false, err
		}
	}
	ok, err := tryLock(*f)
	if !ok || err != nil {
		return false, err
	}
	// Somebody may have deleted it, and others lock a new one.
	mine, err := (*f).Stat()
	if err != nil {
		return false, err
	}
	if now, err := os.Stat(path); err == nil && os.SameFile(mine, now) {
		return true, nil
	}
	(*f).Close()
	*f = nil
	return false, nil
}

func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if os.IsNotExist(err) {
		if err := makeFolder(path); err != nil {
			return nil, err
		}
		f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", board.ErrUnavailable, err)
	}
	return f, nil
}

func unlockFile(f *os.File) {
	// Nothing can be done about an error; closing would release it too.
	_ = unlock(f)
}
