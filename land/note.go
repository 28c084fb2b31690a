package land

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/bossman-dev/bossman/board"
)

const (
	// maxTold is how many tasks that wait, or are reworked, others are told about.
	maxTold = 100
	// maxFiles is how many files of a task are compared with those of others.
	maxFiles = 10_000
	// toldFiles is how many files of a rework others are told about.
	toldFiles = 100
)

// tell tells others what the lander does, with the next renewal of its lease at the latest.
func (l *Lander) tell(ctx context.Context, doing string) error {
	l.mu.Lock()
	l.note.Doing = doing
	lease := l.lease
	lease.Note = l.copyNote()
	l.mu.Unlock()
	_, err := l.o.Board.Lead(ctx, l.leader(), lease)
	return err
}

// copyNote is what others are told now. The lander is locked.
func (l *Lander) copyNote() *board.LandNote {
	n := l.note
	n.Waits = slices.Clone(n.Waits[:min(len(n.Waits), maxTold)])
	n.Reworks = slices.Clone(n.Reworks[:min(len(n.Reworks), maxTold)])
	return &n
}

// waits notes why a task does not land now.
func (l *Lander) waits(q board.Queued, why string, forPeople bool) {
	l.mu.Lock()
	l.note.Waits = append(l.note.Waits, board.LandWait{Task: q.Task.ID, Why: why, ForPeople: forPeople})
	l.mu.Unlock()
	l.once(Event{Kind: Waits, Task: q.Task.ID, Title: q.Task.Title, Text: why})
}

// stop notes why nothing lands until a person does something.
func (l *Lander) stop(e Event) {
	l.mu.Lock()
	l.note.Stopped = e.Text
	l.mu.Unlock()
	e.Kind = Stopped
	l.once(e)
}

// begin forgets what was noted in the last round.
func (l *Lander) begin() {
	l.mu.Lock()
	l.note.Stopped, l.note.Waits = "", nil
	l.mu.Unlock()
}

// restore puts back why work waits, if a round was interrupted that had not found that again.
func (l *Lander) restore() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.idle < 0 && l.note.Stopped == "" && len(l.note.Waits) == 0 {
		l.note.Stopped, l.note.Waits = l.last.Stopped, l.last.Waits
	}
}

// rework notes that a task went back because of a conflict: work on the same files waits for it, or it
// would conflict with that in turn.
func (l *Lander) rework(q board.Queued, files []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note.Reworks = append(l.note.Reworks, board.Rework{Task: q.Task.ID, Attempt: q.Task.Attempt, Files: slices.Clone(files[:min(len(files), toldFiles)])})
}

// reworks forgets the reworks that are over: their tasks are back in the queue, or nobody can work on them, nor reviews that. One that waits
// for other tasks is among these, since such a task may be the one that would wait for it here. Those that are back in the queue go to its front, or what waited for them would land first, and they would
// conflict again.
func (l *Lander) reworks(ctx context.Context, queue []board.Queued) error {
	l.mu.Lock()
	list := slices.Clone(l.note.Reworks)
	l.mu.Unlock()
	var err error
	list = slices.DeleteFunc(list, func(r board.Rework) bool {
		if slices.ContainsFunc(queue, func(q board.Queued) bool { return q.Task.ID == r.Task }) {
			l.again[r.Task] = true
			return true
		}
		d, failed := l.o.Board.Get(ctx, r.Task, 0)
		if failed != nil {
			err = failed
			return false
		}
		switch d.Task.State() {
		case board.StateReady, board.StateReserved, board.StateCoolingDown, board.StateInProgress, board.StateReview:
			return false
		}
		return true
	})
	l.mu.Lock()
	l.note.Reworks = list
	l.mu.Unlock()
	maps.DeleteFunc(l.again, func(id board.ID, _ bool) bool {
		return !slices.ContainsFunc(queue, func(q board.Queued) bool { return q.Task.ID == id })
	})
	first := func(q board.Queued) int {
		if l.again[q.Task.ID] {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(queue, func(a, b board.Queued) int { return cmp.Compare(first(a), first(b)) })
	return err
}

// reworked says for which task work waits that changes some files, empty if there is none.
func (l *Lander) reworked(q board.Queued, paths []string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.note.Reworks {
		for _, file := range r.Files {
			if r.Task != q.Task.ID && slices.Contains(paths, file) {
				return fmt.Sprintf("%v is worked on or reviewed again, because of a conflict in the same file: %.200q", r.Task, file)
			}
		}
	}
	return ""
}
