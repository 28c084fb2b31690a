package land

import (
	"context"
	"errors"
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
	// Head is the newest commit of its branch, in full; empty if that is not known.
	Head string
	// Merged is the commit with which it was merged, in full.
	Merged string
	// Commits are those that it had, oldest first; nil if that is not known.
	Commits []PullCommit
	// Comments are what people wrote there. Unread: those on lines could not be read.
	Comments []PullComment
	Unread   bool
}

// A PullCommit is a commit of a pull request. A merge that rebases it keeps its subject and when it was authored.
type PullCommit struct {
	Commit   string // in full; empty if that is not known
	Subject  string
	Authored int64 // in seconds
}

// A PullState is what became of a pull request.
type PullState string

const (
	PullOpen   PullState = "OPEN"
	PullMerged PullState = "MERGED"
	PullClosed PullState = "CLOSED"

	pullStrange PullState = "strange" // it is not the task's
)

// A PullError says that pull requests could not be made or looked at.
type PullError struct {
	// Said is why, in words that may be those of others.
	Said string
}

func (e *PullError) Error() string { return fmt.Sprintf("gh: %.400q", e.Said) }

// pollTime is how often a pull request is looked at.
const pollTime = time.Minute

// pullBranch is the branch of the pull request of an attempt. Other boards may have a task of the same id, so it has the first
// digits of the commit that was reported.
func pullBranch(id board.ID, attempt int, tip string) string {
	return oldBranch(id, attempt) + "-" + tip[:min(len(tip), 8)]
}

// oldBranch is what older versions call the branch.
func oldBranch(id board.ID, attempt int) string {
	return "bossman/" + id.String() + "-" + strconv.Itoa(attempt)
}

func queuedBranch(q board.Queued) string { return pullBranch(q.Task.ID, q.Task.Attempt, q.Tip.Commit) }

// pulls looks at the pull requests of what is queued, and makes those that are missing. more is set if
// something has left the queue.
func (l *Lander) pulls(ctx context.Context, tip string, queue []board.Queued) (more bool, err error) {
	l.begin()
	for _, q := range queue {
		branch := queuedBranch(q)
		if seen, ok := l.seen[branch]; ok && time.Since(seen.at) < pollTime {
			l.waits(q, pullIsOpen+seen.url, true)
			continue
		}
		p, branch, err := l.find(ctx, tip, q)
		if err != nil {
			return more, err
		}
		gone := false
		switch p.State {
		case "":
			gone, err = l.pull(ctx, tip, q)
		case PullMerged:
			gone, err = l.merged(ctx, q, p, branch)
		case pullStrange:
			l.waits(q, fmt.Sprintf("the pull request of branch %q has something else than its work: close it and delete the branch, or, if the work is in there, bossman task done %v: %.200q", branch, q.Task.ID, visible.Line(p.URL)), true)
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

// find returns the pull request of a task, and its branch; the zero one if there is none. One that an older version has made, whose
// branch could be of any board, is the task's only if it has the work.
func (l *Lander) find(ctx context.Context, tip string, q board.Queued) (p Pull, branch string, err error) {
	branch = queuedBranch(q)
	if p, err = l.o.Pulls.View(ctx, branch); err != nil {
		return p, branch, err
	}
	if p.State != "" {
		own, known, err := l.hasWork(ctx, tip, p, branch, q)
		if known && !own && p.State != PullClosed { // which people do not want, whatever they made of it
			p.State = pullStrange
		}
		return p, branch, err
	}
	old := oldBranch(q.Task.ID, q.Task.Attempt)
	other, err := l.o.Pulls.View(ctx, old)
	if err != nil || other.State == "" {
		return p, branch, err
	}
	if own, _, err := l.hasWork(ctx, tip, other, old, q); err != nil || !own {
		return p, branch, err
	}
	return other, old, nil
}

// maxPushed is how many commits of people on top of the work in a pull request are looked at.
const maxPushed = 20

// hasWork reports whether the newest commit of a pull request is the work of a task on top of the target, or has such a commit in
// its history: people push to it, too. What has happened to the target since it was merged does not count. known is false if that commit is not to be had.
func (l *Lander) hasWork(ctx context.Context, tip string, p Pull, branch string, q board.Queued) (own, known bool, err error) {
	if !git.IsObject(p.Head) {
		return false, false, nil
	}
	if _, err := l.o.Repo.Commit(ctx, p.Head); err != nil {
		if _, err := l.target.branch(ctx, branch); err != nil {
			return false, false, err
		}
		if _, err := l.o.Repo.Commit(ctx, p.Head); err != nil { // the branch is gone
			return false, false, nil
		}
	}
	room, err := l.room.at(ctx, tip)
	if err != nil {
		return false, false, err
	}
	before, forward, err := l.beforeMerge(ctx, tip, p)
	if err != nil {
		return false, false, err
	}
	base, err := room.MergeBase(ctx, before, p.Head)
	if errors.Is(err, git.ErrUnrelated) {
		return false, true, nil
	}
	if err != nil {
		return false, false, err
	}
	pushed, err := l.o.Repo.Log(ctx, base, p.Head, taskTrailer)
	if err != nil {
		return false, false, err
	}
	pairs := [][2]string{{tip, p.Head}} // also if the target has it
	for _, c := range pushed[:min(len(pushed), maxPushed)] {
		pairs = append(pairs, [2]string{before, c.Commit})
	}
	for commit := p.Head; forward && len(pairs) <= maxPushed; { // where the branch began cannot be told
		parent, err := l.o.Repo.Commit(ctx, commit+"^1")
		if err != nil {
			break
		}
		pairs = append(pairs, [2]string{parent, commit})
		commit = parent
	}
	for _, pair := range pairs {
		if own, known, err = l.isWork(ctx, pair[0], pair[1], q); err != nil || own || !known {
			return own, known, err
		}
	}
	return false, true, nil
}

// beforeMerge returns the commit of the target before people have merged a pull request: with a merge commit its own commits are in
// the target, too. forward is set if the target was moved forward to them instead. If they are not there, it is the tip.
func (l *Lander) beforeMerge(ctx context.Context, tip string, p Pull) (before string, forward bool, err error) {
	if p.State != PullMerged || !git.IsObject(p.Merged) {
		return tip, false, nil
	}
	if in, err := l.target.contains(ctx, tip, p.Merged); err != nil || !in {
		return tip, false, err
	}
	before = p.Merged
	for range maxPushed {
		in, err := l.target.contains(ctx, before, p.Head)
		if err != nil {
			return tip, false, err
		}
		if !in {
			return before, forward, nil
		}
		forward = before == p.Head
		if before, err = l.o.Repo.Commit(ctx, before+"^1"); err != nil { // the history is shorter than that
			break
		}
	}
	return tip, forward, nil
}

// pullIsOpen begins why a task waits whose pull request is open. Its address follows.
const pullIsOpen = "its pull request is open: "

// OpenPull returns the address of the pull request of a task in a landing queue, and who says so, if a lander has seen that it is
// open.
func OpenPull(line board.Line, id board.ID) (url string, by board.Author) {
	if line.Lander.Note == nil || !slices.ContainsFunc(line.Queue, func(q board.Queued) bool { return q.Task.ID == id }) {
		return "", by
	}
	for _, w := range line.Lander.Note.Waits {
		if url, ok := strings.CutPrefix(w.Why, pullIsOpen); ok && w.Task == id {
			return url, w.Author
		}
	}
	return "", by
}

// A sighting is when a pull request was seen to be open.
type sighting struct {
	url string
	at  time.Time
}

// open notes that a task waits for people.
func (l *Lander) open(q board.Queued, url string) {
	url = visible.Line(url)
	l.seen[queuedBranch(q)] = sighting{url, time.Now()}
	l.waits(q, pullIsOpen+url, true)
}

// pull makes the pull request of a task, unless its work conflicts with the target or the check refuses it
// there; gone is set then.
func (l *Lander) pull(ctx context.Context, tip string, q board.Queued) (gone bool, err error) {
	branch := queuedBranch(q)
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
	} else if own, _, err := l.isWork(ctx, tip, there, q); err != nil || !own {
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

// isWork reports whether a commit on top of the target is what becomes of the work of a task there. known is false if the work
// cannot be merged now.
func (l *Lander) isWork(ctx context.Context, tip, commit string, q board.Queued) (own, known bool, err error) {
	room, err := l.room.at(ctx, tip)
	if err != nil {
		return false, false, err
	}
	base, err := room.MergeBase(ctx, tip, commit)
	if err != nil {
		return false, false, err
	}
	m, why, _, err := l.merge(ctx, room, base, q, past{}, nil)
	if err != nil || why != "" || len(m.Conflicts) > 0 {
		return false, err == nil && why == "", err
	}
	tree, err := room.Tree(ctx, commit)
	return err == nil && tree == m.Tree, err == nil, err
}

// merged ends the landing of a task whose pull request people have merged.
func (l *Lander) merged(ctx context.Context, q board.Queued, p Pull, branch string) (gone bool, err error) {
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
	if there, err := l.target.branch(ctx, branch); err == nil && there != "" && (p.Head == "" || p.Head == there) { // or else it stays
		_ = l.target.unpush(ctx, map[string]string{"refs/heads/" + branch: there})
	}
	return true, nil
}

// closed sends work back to its task whose pull request people have closed.
func (l *Lander) closed(ctx context.Context, q board.Queued, p Pull) error {
	text := "the pull request " + visible.Line(p.URL) + " was closed without a merge"
	if p.Unread {
		text += "; the comments on its lines could not be read"
	}
	if len(p.Comments) > 0 {
		text += "; comments on it, by people on GitHub, the newest first:" + commentLines(p.Comments)
	}
	err := l.giveBack(ctx, q.Task.ID, board.Return{Attempt: q.Task.Attempt, Kind: board.ReturnClosed, Lease: l.current(), Text: text})
	if err == nil {
		l.o.Report(Event{Kind: Closed, Task: q.Task.ID, Title: q.Task.Title, Text: visible.Line(p.URL)})
	}
	return err
}
