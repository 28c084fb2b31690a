package check

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/proc"
)

// slots bound how many checks run at once.
type slots struct {
	own   chan struct{}
	files []string
}

func newSlots(dir string, n int) *slots {
	s := &slots{own: make(chan struct{}, n)}
	for i := range n {
		if dir != "" {
			s.files = append(s.files, filepath.Join(dir, fmt.Sprintf("check.%d.lock", i+1)))
		}
	}
	return s
}

const (
	// lockPause is the pause between two tries to get a lock file.
	lockPause = 100 * time.Millisecond
	// lockSlack is how much longer than its limit a check may hold its lock: the snapshots
	// around the command have limits of their own, and are short as a rule.
	lockSlack = time.Minute
)

// take waits for a slot for a check in a directory that may take limit, and returns what gives
// it back. It tells waits what it waits for.
func (s *slots) take(ctx context.Context, dir string, limit time.Duration, waits func(string)) (release func(), err error) {
	waits("it waits for another check of this process")
	select {
	case s.own <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	free := func() { <-s.own }
	if len(s.files) == 0 {
		return free, nil
	}
	if err := os.MkdirAll(filepath.Dir(s.files[0]), 0o700); err != nil {
		free()
		return nil, err
	}
	for {
		for _, path := range s.files {
			unlock, ok, err := proc.TryLock(path)
			if err != nil {
				free()
				return nil, err
			}
			if ok {
				// Without this note others wait without knowing for whom.
				_ = os.WriteFile(path, []byte(holder{os.Getpid(), time.Now(), limit + lockSlack, dir}.text()), 0o600)
				return func() { unlock(); free() }, nil
			}
			h, known := readHolder(path)
			switch {
			case !known:
				waits("it waits for another check on this machine")
			case h.stuck():
				discard(path)
			default:
				waits(fmt.Sprintf("it waits for another check on this machine, which process %d has run in %.200q since %s", h.pid, h.dir, h.since.Local().Format(time.TimeOnly)))
			}
		}
		timer := time.NewTimer(lockPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			free()
			return nil, context.Cause(ctx)
		}
	}
}

// discard removes a lock file whose holder is stuck; it keeps the lock of a file that has no name
// anymore. Of several that wait only one does it, so that nobody removes the next holder's file.
func discard(path string) {
	unlock, ok, err := proc.TryLock(path + ".discard")
	if err != nil || !ok {
		return
	}
	defer unlock()
	if h, known := readHolder(path); known && h.stuck() {
		_ = os.Remove(path)
	}
}

// A holder is who has a lock file: the file's content.
type holder struct {
	pid   int
	since time.Time
	limit time.Duration // how long it may have it
	dir   string
}

func (h holder) text() string {
	return fmt.Sprintf("%d %d %d %s\n", h.pid, h.since.UnixMilli(), h.limit.Milliseconds(), h.dir)
}

// readHolder reads who has a lock file; known is false if that is not written there.
func readHolder(path string) (h holder, known bool) {
	text, err := os.ReadFile(path)
	words := strings.SplitN(strings.TrimSpace(string(text)), " ", 4)
	if err != nil || len(words) != 4 {
		return holder{}, false
	}
	var n [3]int64
	for i := range n {
		if n[i], err = strconv.ParseInt(words[i], 10, 64); err != nil {
			return holder{}, false
		}
	}
	return holder{int(n[0]), time.UnixMilli(n[1]), time.Duration(n[2]) * time.Millisecond, words[3]}, true
}

// stuck reports whether others need not wait for a holder: it is suspended, or has the lock for
// longer than its check may take.
func (h holder) stuck() bool { return proc.Suspended(h.pid) || time.Since(h.since) > h.limit }
