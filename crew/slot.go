package crew

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew/agent"
	"github.com/go-json-experiment/json"
)

// A slot works on one task after the other, or does one review after the other.
type slot struct {
	r       *Runner
	name    string
	dir     string // its worktree
	file    string // where kept is
	unlock  func()
	agent   agent.Agent
	seat    Seat
	reviews bool
	kept    kept
	asked   bool // the board for work, in this run
	faults  int  // jobs in a row that the environment ended
	// returned are the tasks that it has given back in this run, and whether that was because the agent
	// could not work at them.
	returned map[board.ID]bool
}

// kept is what a slot remembers between runs.
type kept struct {
	// Worker is its name on the board.
	Worker string `json:"worker,omitzero"`
	// Made is set once the slot has made its worktree. What is in its place then was not put there
	// by strangers.
	Made bool `json:"made,omitzero"`
	// Setup identifies the setup that has succeeded in the worktree, and what it depends on.
	Setup string `json:"setup,omitzero"`
	// Session is that of the last job in the worktree, if it can be gone on with.
	Session session `json:"session,omitzero"`
	// Aside is where files of a job are that could not be stored.
	Aside aside `json:"aside,omitzero"`
	// Departed are the claims of other workers that were moved away with the slot's last worktree. The
	// board may still say that they are here.
	Departed []string `json:"departed,omitzero"`

	// The rest is about the job that has its files in the worktree, and whose end was not seen to
	// yet. Preparing is set while the worktree is made ready for it: what is there is not its work.
	Preparing bool   `json:"preparing,omitzero"`
	Task      string `json:"task,omitzero"`
	Attempt   int    `json:"attempt,omitzero"`
	Claim     string `json:"claim,omitzero"`
	Branch    string `json:"branch,omitzero"`
	Title     string `json:"title,omitzero"`
	// Base is the commit that it began from. Fresh is set if that was what is checked out in the
	// repository, and no work of earlier attempts.
	Base  string `json:"base,omitzero"`
	Fresh bool   `json:"fresh,omitzero"`
	// Unsafe says why the worktree must not be used again, if it must not.
	Unsafe string `json:"unsafe,omitzero"`
	// Desk is the directory of its files.
	Desk string `json:"desk,omitzero"`
}

// free forgets the job.
func (k *kept) free() {
	*k = kept{Worker: k.Worker, Made: k.Made, Setup: k.Setup, Session: k.Session, Aside: k.Aside, Departed: k.Departed}
}

// aside is a worktree that was moved away with files of the job under a claim that could not be stored.
type aside struct {
	Claim string `json:"claim,omitzero"`
	Dir   string `json:"dir,omitzero"`
}

const (
	// waitTask is how long one request waits for a task.
	waitTask = 40 * time.Second
	// retryFirst and retryLast are the pauses after an error of the board.
	retryFirst, retryLast = time.Second, 30 * time.Second
	// faultPause is the pause after the first of them.
	faultPause = 2 * time.Second
	// maxFaults is how many jobs in a row may end for reasons of the environment.
	maxFaults = 3
)

// run works until there is nothing to do.
func (s *slot) run(ctx, drain context.Context) error {
	defer s.r.leave(ctx, s.seat.Actor.Owner)
	for s.recoverSoon(ctx, drain); drain.Err() == nil && ctx.Err() == nil && (s.reviews || s.r.take()); s.recoverSoon(ctx, drain) {
		if d := time.Until(s.r.rests(s.agent.Name())); d > 0 {
			wait(drain, d)
		}
		h, err := s.next(ctx, drain)
		if h == nil {
			s.untake()
			return err
		}
		res := s.work(ctx, h)
		s.r.mu.Lock()
		s.r.results = append(s.r.results, res)
		s.r.mu.Unlock()
		if res.Rested {
			s.untake() // it was not worked on
		}
		if res.Kind == Returned && !res.again {
			s.returned[res.Task] = res.unusable
		}
		if res.Kind != Returned && res.Kind != Untold || res.Rested || res.again {
			s.faults = 0
		} else if s.faults++; s.faults == maxFaults && ctx.Err() == nil {
			return fmt.Errorf("%s has stopped: %d times in a row a %s could not be worked on, the last time %v", s.name, maxFaults, s.what(), h.Task.ID)
		}
		if s.faults > 0 {
			wait(drain, time.Duration(s.faults)*faultPause)
		}
	}
	return nil
}

// untake gives back what was taken of the tasks that may still be begun.
func (s *slot) untake() {
	if !s.reviews {
		s.r.untake()
	}
}

// what is what the slot does.
func (s *slot) what() string {
	if s.reviews {
		return "review"
	}
	return "task"
}

// recoverSoon is recover for a slot that is to go on: it waits for the board.
func (s *slot) recoverSoon(ctx, drain context.Context) {
	for pause := retryFirst; drain.Err() == nil && ctx.Err() == nil; pause = min(2*pause, retryLast) {
		err := s.recover(ctx)
		if err == nil {
			return
		}
		s.report(Trouble, fmt.Sprintf("%v; next try in %v", err, pause))
		wait(drain, pause)
	}
}

// next waits for a task, or for a review. It returns nil if there is nothing to do any more.
func (s *slot) next(ctx, drain context.Context) (*board.Handout, error) {
	s.report(Waiting, "waits for a "+s.what())
	pause, said := retryFirst, false
	var retry, retried board.ID // tasks that are asked for by name, since they are not offered
	for drain.Err() == nil && ctx.Err() == nil {
		if err := s.afford(ctx, drain); err != nil {
			return nil, err
		}
		actor := s.seat.Actor
		actor.Worker = s.kept.Worker
		wish := board.Wish{Worker: s.kept.Worker, Projects: []string{s.r.o.Project}, Task: retry, Wait: s.patience()}
		retry = board.ID{}
		if s.reviews {
			wish.Reviews, wish.OnlyReviews = wish.Projects, true
		}
		before := s.kept.Worker != "" && !s.asked
		if before { // the answer tells at once whether its worker was stopped in an earlier run
			wish.Wait = 0
		}
		s.asked = true
		last := s.reviews && s.r.allWorked()
		began := time.Now()
		h, err := s.r.o.Board.Next(drain, actor, wish)
		if err == nil && s.reviews && !h.Claim.IsReview() {
			actor.Worker = h.Claim.Worker.Name
			return nil, errors.Join(errors.New("the server hands out tasks to workers that only review: it is older than this program"), s.r.o.Board.GiveBack(ctx, actor, h.Claim.Handle, ""))
		}
		if err == nil {
			s.r.looked(s, time.Time{})
			s.kept.Worker = h.Claim.Worker.Name
			return h, s.keep()
		}
		none, nothing := errors.AsType[*board.Nothing](err)
		if nothing {
			s.r.looked(s, began)
		}
		declined, isDeclined := s.declined(none)
		switch {
		case !isDeclined:
		case s.retries(declined.Task) && retried != declined.Task:
			retry, retried = declined.Task, declined.Task
			continue
		case !said:
			said = true
			s.report(Trouble, fmt.Sprintf("no task is offered to this slot for %v: it could not work on %v, and has given it back", declined.In.Round(time.Second), declined.Task))
		}
		_, taken := errors.AsType[*board.HeldError](err)
		_, stopped := errors.AsType[*board.StoppedError](err)
		switch {
		case drain.Err() != nil:
			return nil, nil
		case nothing && last:
			return nil, nil
		case nothing && s.r.o.UntilEmpty:
			if empty, err := s.r.empty(ctx, none.PausedBy != "" || none.Archived != ""); err != nil || !empty {
				if isDeclined && err == nil && s.r.stuck(ctx) {
					return nil, fmt.Errorf("%s has stopped: it could not work on %v, and nothing else is left for it", s.name, declined.Task)
				}
				continue
			}
			switch {
			case none.Archived != "":
				s.report(Trouble, fmt.Sprintf("no task is handed out, because %s is archived: bossman project set %[1]s --archived=false", none.Archived))
			case none.PausedBy != "":
				s.report(Trouble, fmt.Sprintf("no task is handed out, because %s has paused the project: bossman resume", none.PausedBy))
			}
			return nil, nil
		case nothing:
			continue
		case stopped && before:
			s.kept.Worker = ""
			continue
		case stopped: // for the name, too
			s.kept.Worker = ""
			return nil, errors.Join(fmt.Errorf("%w; the slot has a new worker at the next start of bossman work", err), s.keep())
		case s.kept.Worker != "" && (taken || errors.Is(err, board.ErrInvalid)):
			s.kept.Worker = "" // it is a new worker
			continue
		case errors.Is(err, board.ErrInvalid), errors.Is(err, board.ErrDenied), errors.Is(err, board.ErrNotFound):
			return nil, err
		}
		s.report(Trouble, fmt.Sprintf("the board gives no %s: %v; next try in %v", s.what(), err, pause))
		wait(drain, pause)
		pause = min(2*pause, retryLast)
	}
	return nil, nil
}

// declined returns the task that a slot is offered next, if that is one which it has given back.
func (s *slot) declined(none *board.Nothing) (board.Coming, bool) {
	if none == nil || s.reviews || len(none.Coming) == 0 || !none.Coming[0].Declined {
		return board.Coming{}, false
	}
	return none.Coming[0], true
}

// retries reports whether a slot takes a task again that it has given back, before it is offered it: what
// was wrong in an earlier run may be repaired, and if its agent has worked at others since, the task is at fault.
func (s *slot) retries(id board.ID) bool {
	unusable, returned := s.returned[id]
	return !returned || unusable && s.r.worksAtOthers(s.agent.Name(), id)
}

// wait waits for a while, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// leave tells the board that an owner has ended. If that fails, its lease ends anyway.
func (r *Runner) leave(ctx context.Context, owner string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = r.o.Board.Leave(ctx, owner)
}

// patience is how long a request waits. A runner that ends when nothing is left has to look.
func (s *slot) patience() time.Duration {
	if s.r.o.UntilEmpty || s.reviews && s.r.o.MaxTasks > 0 {
		return time.Second
	}
	return waitTask
}

// empty reports whether nothing is left that could be worked on without people. In a project that
// is closed, which is one that is paused or archived, that is what was begun before.
func (r *Runner) empty(ctx context.Context, closed bool) (bool, error) {
	began, idle := time.Now(), r.idle()
	n, c, err := r.open(ctx, closed)
	if landing := c.Status[board.Landing]; err == nil && n == 0 && landing > 0 && r.o.ToLand != nil {
		n, err = r.o.ToLand(ctx)
		if err == nil && n == 0 { // what has landed in between may have made tasks ready; one may have been accepted
			n, c, err = r.open(ctx, closed)
			n += max(c.Status[board.Landing]-landing, 0)
		}
	}
	if err != nil || n > 0 {
		began = time.Time{}
	}
	r.quieten(began)
	return err == nil && n == 0 && (idle || c.Status[board.InReview] == 0), err
}

// stuck reports whether nothing goes on that could make other tasks ready.
func (r *Runner) stuck(ctx context.Context) bool {
	sum, err := r.o.Board.Summary(ctx, r.o.Project)
	c := sum.Counts
	return err == nil && c.Later+c.Status[board.InProgress]+c.Status[board.Landing] == 0
}

// open returns how many tasks could be worked on or are worked on, and the counts of the board.
func (r *Runner) open(ctx context.Context, closed bool) (int, board.Counts, error) {
	sum, err := r.o.Board.Summary(ctx, r.o.Project)
	c := sum.Counts
	switch {
	case len(r.o.Agents) == 0 && len(r.o.Reviewers) > 0: // they are for others
		return 0, c, err
	case closed:
		return c.Status[board.InProgress], c, err
	}
	return c.Ready + c.Later + c.Status[board.InProgress], c, err
}

// remember reads what the slot remembers. Without it the slot has a new name.
func (s *slot) remember() {
	if text, err := readKept(s.file); err == nil {
		_ = json.Unmarshal(text, &s.kept)
	}
}

// busy returns the task of another worker that works in the slot's worktree, empty if there is
// none: after a run was killed, an agent may have been told to go on there. One with another key never
// is, whatever it says.
func (s *slot) busy(ctx context.Context) (string, error) {
	return s.other(ctx, func(c board.Claim) bool {
		return c.Where.Dir == s.dir || s.kept.Task != "" && c.Task.String() == s.kept.Task
	})
}

// guest returns the task of another worker that was seen in the slot's worktree, where it is not to be,
// empty if there is none.
func (s *slot) guest(ctx context.Context) (string, error) {
	return s.other(ctx, func(c board.Claim) bool { return c.Where.Dir == s.dir && c.Handle.String() != s.kept.Claim })
}

// other returns the task of another worker whose claim is one of those meant and was not moved away
// with an earlier worktree, empty if there is none.
func (s *slot) other(ctx context.Context, is func(board.Claim) bool) (string, error) {
	claims, err := s.others(ctx)
	for _, c := range claims {
		if is(c) && !slices.Contains(s.kept.Departed, c.Handle.String()) {
			return c.Task.String(), nil
		}
	}
	return "", err
}

// others returns the claims of other workers with the same key in this clone.
func (s *slot) others(ctx context.Context) ([]board.Claim, error) {
	claims, err := s.r.o.Board.Claims(ctx, board.ClaimFilter{Project: s.r.o.Project})
	return slices.DeleteFunc(claims, func(c board.Claim) bool {
		return c.Owner == s.seat.Actor.Owner || !c.Own(s.r.o.Principal) || c.Where.Clone != s.r.o.Repo.CloneID()
	}), err
}

// keep writes what the slot remembers.
func (s *slot) keep() error {
	text, err := json.Marshal(s.kept)
	if err != nil {
		return err
	}
	return replace(s.file, text)
}

// report tells what happened in the slot itself.
func (s *slot) report(kind EventKind, text string) {
	s.r.o.Report(Event{Slot: s.name, Agent: s.agent.Name(), Worker: s.kept.Worker, Kind: kind, Text: text})
}
