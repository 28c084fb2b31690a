package land

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/visible"
)

// An unjudged is work that the check could not judge on top of a target that it can judge. It waits, and other work
// goes past it.
type unjudged struct {
	attempt int
	tip     string
	by      string // what could not judge it
	why     string
	pause   time.Duration // after which it is tried again
	until   time.Time     // when that is
}

const (
	// firstRetry is when work that could not be judged is tried again, and lastRetry the longest pause between two tries.
	firstRetry, lastRetry = 10 * time.Minute, time.Hour
	// maxWhy is how much is told of what a check, a setup or git has written, in bytes.
	maxWhy = 600
)

// judges identifies what judges work now.
func (l *Lander) judges() (string, error) {
	c, err := l.o.Check()
	if err != nil || c == nil {
		return "", err
	}
	by := fmt.Sprintf("%q %q %v %q", c.Wrap, c.Command, c.Timeout, c.Env)
	if l.o.Setup != nil {
		command, when, err := l.o.Setup()
		if err != nil {
			return "", err
		}
		by += fmt.Sprintf(" %q %q", command, when)
	}
	return by, nil
}

// setAside notes that work could not be judged on top of a commit.
func (l *Lander) setAside(onto string, q board.Queued, v check.Verdict) error {
	by, err := l.judges()
	if err != nil {
		return err
	}
	back := fmt.Sprintf("bossman land return %v", q.Task.ID)
	if v.Result == check.Changed && len(v.Paths) > 0 {
		back += ` -m "merge the target, and commit what the check writes"`
	}
	u := unjudged{
		attempt: q.Task.Attempt, tip: q.Tip.Commit, by: by, pause: min(max(2*l.unjudged[q.Task.ID].pause, firstRetry), lastRetry),
		why: fmt.Sprintf("the check could not judge it on top of %s, at commit %s: %s; fix that, and it is tried again within an hour, or when a lander starts; or send it back: %s",
			l.o.Target, git.Short(onto), unjudgedWhy(v), back),
	}
	u.until = time.Now().Add(u.pause)
	l.unjudged[q.Task.ID] = u
	return nil
}

// unjudgedWhy says why a check could not judge, with the files that it has changed or the last that it has written.
func unjudgedWhy(v check.Verdict) string {
	why := excerpt(v.Why)
	switch {
	case v.Result == check.Changed && len(v.Paths) > 0:
		why += ": " + visible.Paths(v.Paths)
	case strings.TrimSpace(v.Tail) != "":
		why += fmt.Sprintf(", after it wrote %q", visible.Cut(lastLine(v.Tail), 200))
	}
	return why
}

// excerpt is a text of others on one line. A long one lacks its middle: what failed is said first, and why at the end.
func excerpt(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > maxWhy {
		text = visible.Cut(text, maxWhy/3) + strings.ToValidUTF8(text[len(text)-maxWhy*2/3:], "")
	}
	return visible.Line(text)
}

// pass notes which tasks of a queue wait because they could not be judged, and returns the others. Those that are tried again
// are last.
func (l *Lander) pass(queue []board.Queued) ([]board.Queued, error) {
	if len(l.unjudged) == 0 {
		return queue, nil
	}
	by, err := l.judges()
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(l.unjudged, func(id board.ID, _ unjudged) bool {
		return !slices.ContainsFunc(queue, func(q board.Queued) bool { return q.Task.ID == id })
	})
	queue = slices.DeleteFunc(slices.Clone(queue), func(q board.Queued) bool {
		u, ok := l.unjudged[q.Task.ID]
		switch {
		case !ok:
			return false
		case u.attempt != q.Task.Attempt || u.tip != q.Tip.Commit || u.by != by:
			delete(l.unjudged, q.Task.ID)
			return false
		case time.Now().After(u.until):
			return false
		}
		l.waits(q, u.why, true)
		return true
	})
	slices.SortStableFunc(queue, func(a, b board.Queued) int { return cmp.Compare(l.tries(a), l.tries(b)) })
	return queue, nil
}

// tries is 1 for work that could not be judged before, else 0.
func (l *Lander) tries(q board.Queued) int {
	if _, ok := l.unjudged[q.Task.ID]; ok {
		return 1
	}
	return 0
}
