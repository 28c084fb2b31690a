package land

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/visible"
)

// Pulls are the pull requests of the remote repository of a target. Errors are *PullError.
type Pulls interface {
	// View returns the newest pull request of a branch; the zero one if there is none.
	View(ctx context.Context, branch string) (Pull, error)
	// Create makes a pull request of a branch for another one, and returns its address.
	Create(ctx context.Context, base, branch, title, body string) (url string, err error)
}

// A Pull is a pull request.
type Pull struct {
	State PullState
	URL   string
	// Merged is the commit with which it was merged, in full.
	Merged string
	// Comments are what people wrote there, each after its author.
	Comments []string
}

// A PullState is what became of a pull request.
type PullState string

const (
	PullOpen   PullState = "OPEN"
	PullMerged PullState = "MERGED"
	PullClosed PullState = "CLOSED"
)

// A PullError says that pull requests could not be made or looked at.
type PullError struct {
	// Said is why, in words that may be those of others.
	Said string
}

func (e *PullError) Error() string { return fmt.Sprintf("gh: %.400q", e.Said) }

// pollTime is how often a pull request is looked at.
const pollTime = time.Minute

// pullBranch is the branch of the pull request of an attempt.
func pullBranch(q board.Queued) string {
	return "bossman/" + q.Task.ID.String() + "-" + strconv.Itoa(q.Task.Attempt)
}

// pulls looks at the pull requests of what is queued, and makes those that are missing. more is set if
// something has left the queue.
func (l *Lander) pulls(ctx context.Context, tip string, queue []board.Queued) (more bool, err error) {
	l.begin()
	for _, q := range queue {
		branch := pullBranch(q)
		if seen, ok := l.seen[branch]; ok && time.Since(seen.at) < pollTime {
			l.waits(q, "its pull request is open: "+seen.url, true)
			continue
		}
		p, err := l.o.Pulls.View(ctx, branch)
		if err != nil {
			return more, err
		}
		gone := false
		switch p.State {
		case "":
			gone, err = l.pull(ctx, tip, q)
		case PullMerged:
			gone, err = l.merged(ctx, q, p)
		case PullClosed:
			gone, err = true, l.closed(ctx, q, p)
		default:
			l.open(q, p.URL)
		}
		if err != nil {
			return more, err
		}
		more = more || gone
	}
	return more, nil
}

// A sighting is when a pull request was seen to be open.
type sighting struct {
	url string
	at  time.Time
}

// open notes that a task waits for people.
func (l *Lander) open(q board.Queued, url string) {
	url = visible.Line(url)
	l.seen[pullBranch(q)] = sighting{url, time.Now()}
	l.waits(q, "its pull request is open: "+url, true)
}

// pull makes the pull request of a task, unless its work conflicts with the target or the check refuses it
// there; gone is set then.
func (l *Lander) pull(ctx context.Context, tip string, q board.Queued) (gone bool, err error) {
	branch := pullBranch(q)
	there, err := l.target.branch(ctx, branch)
	if err != nil {
		return false, err
	}
	if there == "" { // else a lander has died before it made the pull request
		chain, returned, err := l.chain(ctx, tip, []board.Queued{q}, nil)
		if err != nil || returned || len(chain) == 0 {
			return returned, err
		}
		good, returned, err := l.judge(ctx, tip, chain)
		if err != nil || len(good) == 0 {
			return returned, err
		}
		if there = good[0].commit; there == tip {
			return true, l.land(ctx, tip, good) // the target has it already
		}
		if err := l.target.pushOnce(ctx, there, branch); err != nil {
			return false, err
		}
	} else if own, err := l.isWork(ctx, tip, there, q); err != nil || !own {
		if err == nil {
			l.waits(q, fmt.Sprintf("branch %q of %s has something else than its work: delete that branch", branch, l.o.Target.Remote), true)
		}
		return false, err
	}
	text := fmt.Sprintf("%s\n\nTask %v, attempt %d.\n", verbatim("What its worker reported:", q.Summary), q.Task.ID, q.Task.Attempt)
	url, err := l.o.Pulls.Create(ctx, l.o.Target.Branch, branch, visible.Line(q.Task.Title), strings.TrimLeft(text, "\n"))
	if err != nil {
		return false, err
	}
	l.open(q, url)
	return false, nil
}

// verbatim quotes a text of an agent for a page of people, on which words such as "closes #1" would act.
func verbatim(head, text string) string {
	if text = visible.Text(strings.TrimSpace(text)); text == "" {
		return ""
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return head + "\n\n" + fence + "text\n" + text + "\n" + fence
}

// isWork reports whether a commit on top of the target is what becomes of the work of a task there.
func (l *Lander) isWork(ctx context.Context, tip, commit string, q board.Queued) (bool, error) {
	room, err := l.room.at(ctx, tip)
	if err != nil {
		return false, err
	}
	base, err := room.MergeBase(ctx, tip, commit)
	if err != nil {
		return false, err
	}
	m, why, _, err := l.merge(ctx, room, base, q, past{}, nil)
	if err != nil || why != "" || len(m.Conflicts) > 0 {
		return false, err
	}
	tree, err := room.Tree(ctx, commit)
	return err == nil && tree == m.Tree, err
}

// merged ends the landing of a task whose pull request people have merged.
func (l *Lander) merged(ctx context.Context, q board.Queued, p Pull) (gone bool, err error) {
	if !board.ValidObject(p.Merged) {
		l.waits(q, fmt.Sprintf("its pull request was merged, and it is not said as which commit: %.200q", visible.Line(p.URL)), true)
		return false, nil
	}
	switch has, err := l.target.has(ctx, p.Merged); {
	case err != nil:
		return false, err
	case !has:
		l.waits(q, fmt.Sprintf("its pull request was merged, but commit %s is not in %s: %.200q", git.Short(p.Merged), l.o.Target.Branch, visible.Line(p.URL)), true)
		return false, nil
	}
	if err := l.land(ctx, p.Merged, []link{{q, p.Merged}}); err != nil {
		return false, err
	}
	if there, err := l.target.branch(ctx, pullBranch(q)); err == nil && there != "" { // or else it stays
		_ = l.target.unpush(ctx, map[string]string{"refs/heads/" + pullBranch(q): there})
	}
	return true, nil
}

// maxSaid is how much of the comments on a pull request the next worker is told, in bytes.
const maxSaid = 4000

// closed sends work back to its task whose pull request people have closed.
func (l *Lander) closed(ctx context.Context, q board.Queued, p Pull) error {
	text := "the pull request " + visible.Line(p.URL) + " was closed without a merge"
	if len(p.Comments) > 0 {
		said := slices.Clone(p.Comments)
		for i := range said {
			said[i] = visible.Text(said[i])
		}
		all := strings.Join(said, "\n")
		text += ":\n" + strings.ToValidUTF8(all[max(0, len(all)-maxSaid):], "")
	}
	err := l.giveBack(ctx, q.Task.ID, board.Return{Attempt: q.Task.Attempt, Kind: board.ReturnClosed, Lease: l.current(), Text: text})
	if err == nil {
		l.o.Report(Event{Kind: Closed, Task: q.Task.ID, Title: q.Task.Title, Text: visible.Line(p.URL)})
	}
	return err
}
