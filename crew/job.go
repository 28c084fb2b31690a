package crew

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew/agent"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/proc"
)

// A job is one attempt of a slot at a task, or one review.
type job struct {
	*slot
	h    *board.Handout
	tree *git.Repo

	session string      // that its agent has begun, or goes on with
	used    agent.Usage // what that had used before this attempt
	left    float64     // of the day's budget, in dollars, when it began
	turned  bool        // its agent has ended a turn
	priced  bool        // its agent has told a price
	cost    float64     // that it has told last

	unprepared string // what the agent reads of a setup that failed

	settled func(q board.Question) // Bound.Settled
	// unjudged is Bound.Unjudged.
	unjudged func() (why string, counted bool)

	mu     sync.Mutex
	called time.Time                 // of the last call on the socket
	spent  map[board.QuestionID]bool // answers about permissions that were used
}

// look is how often a job looks whether it still has its claim.
const look = 3 * time.Second

// lastWords is how long an agent goes on after its claim was taken away: what it was just reporting,
// such as while the machine was suspended, is refused by the board and kept as a note.
const lastWords = time.Second

// settleTime bounds what is done after the end of a job, whatever ended it.
const settleTime = 6 * time.Minute

// work works on a task, or reviews one, and returns how that ended.
func (s *slot) work(ctx context.Context, h *board.Handout) Result {
	j := &job{slot: s, h: h}
	began, prepare, end := Began, j.prepare, j.end
	if j.isReview() {
		began, prepare, end = Reviewing, j.prepareReview, j.endReview
	}
	j.tell(began, "")
	if err := j.allot(ctx); err != nil {
		return j.settle(ctx, func(ctx context.Context) Result {
			res := j.giveBack(ctx, err)
			res.Rested = true
			return res
		})
	}
	tree, begins, err := prepare(ctx)
	if errors.Is(err, errLost) {
		return j.result(Lost, err.Error())
	}
	if err != nil {
		return j.settle(ctx, func(ctx context.Context) Result { return j.notNow(ctx, err) })
	}
	j.tree = tree
	last, why, err := j.run(ctx, begins)
	if j.turned && !j.priced {
		j.r.today.sayUnpriced(s)
	}
	runner := ctx
	return j.settle(ctx, func(ctx context.Context) Result {
		if err == nil {
			res := end(ctx, runner, last, why)
			j.hangUp(res.Kind == Parked || res.Rested || errors.Is(why, errEnded))
			return res
		}
		if j.isReview() {
			j.tidy(ctx)
			return j.notNow(ctx, err)
		}
		a := standing{held: true}
		a.Handle = h.Claim.Handle
		_, failed := s.close(ctx, j.tree, a, "")
		if errors.Is(err, proc.ErrReplaced) { // no agent was started: the history has to say so
			return j.notNow(ctx, err)
		}
		return j.giveBack(ctx, errors.Join(err, failed))
	})
}

// settle does what is to be done at the end of a job, also if the runner ends.
func (j *job) settle(ctx context.Context, f func(ctx context.Context) Result) Result {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	return f(ctx)
}

// actor is the worker of the job.
func (j *job) actor() board.Actor {
	a := j.seat.Actor
	a.Worker = j.kept.Worker
	return a
}

// tell tells what happened in the job.
func (j *job) tell(kind EventKind, text string) {
	j.r.o.Report(Event{Slot: j.name, Agent: j.agent.Name(), Worker: j.kept.Worker, Task: j.h.Task.ID, Title: j.h.Task.Title, Kind: kind, Text: text})
}

// result is how the job ended.
func (j *job) result(kind EventKind, text string) Result {
	j.tell(kind, text)
	return Result{Task: j.h.Task.ID, Title: j.h.Task.Title, Kind: kind, claim: j.h.Claim.Handle, agent: j.agent.Name()}
}

// notNow gives back a task that cannot be worked on now: the slot is not offered it again for a
// while, and others may be.
func (j *job) notNow(ctx context.Context, why error) Result {
	if ctx.Err() == nil && !errors.Is(why, context.Canceled) && !errors.Is(why, errEnded) {
		var err error
		if j.isReview() {
			err = j.skip(ctx, why.Error())
		} else {
			_, err = j.r.o.Board.Fail(ctx, j.actor(), j.h.Claim.Handle, board.Failure{Kind: board.FailNotNow, Reason: why.Error()})
		}
		if err == nil {
			return j.result(Returned, why.Error())
		}
	}
	return j.giveBack(ctx, why)
}

// giveBack ends a job that could not be worked on, for a reason that is not its agent's.
func (j *job) giveBack(ctx context.Context, why error) Result {
	if err := j.r.o.Board.GiveBack(ctx, j.actor(), j.h.Claim.Handle, why.Error()); err != nil {
		if _, lost := errors.AsType[*board.LostError](err); !lost && !errors.Is(err, board.ErrConflict) {
			why = errors.Join(why, err)
		}
	}
	return j.result(Returned, why.Error())
}

// errEnded is why a job was ended: the runner ends.
var errEnded = errors.New("bossman work ended")

// run runs the agent until it has ended. why says why the job was ended, nil if the agent
// ended by itself. The error is one of the environment: the agent did not begin.
func (j *job) run(ctx context.Context, begins string) (last agent.Event, why, err error) {
	store := j.storeReport
	if j.isReview() {
		store = nil
	} else {
		j.locate(ctx)
	}
	bound := j.seat.Bind(ctx, j.h, begins, store)
	defer bound.Close()
	j.settled, j.unjudged = bound.Settled, bound.Unjudged
	if bound.Watch != nil {
		bound.Watch(func(q board.Question) { j.tell(Asked, fmt.Sprintf("%v: %s", q.ID, q.Text)) })
	}
	if !j.agent.Tools() {
		bound.Text = j.r.o.AsCommands(bound.Text)
	}
	desk, err := j.desk(bound)
	if err != nil {
		return last, nil, err
	}
	defer clearDesk(desk)
	socket := socketOf(desk.Name())
	stop, err := j.serve(ctx, desk, bound)
	if err != nil {
		return last, nil, err
	}
	defer stop()
	sign := signPath(j.tree)
	if err := git.MakeDir(filepath.Dir(sign)); err != nil {
		return last, nil, err
	}
	if err := replace(sign, []byte(socket+"\n"+j.h.Claim.Handle.String()+"\n")); err != nil {
		return last, nil, err
	}
	defer os.Remove(sign)
	guard, err := j.guard(ctx, desk)
	if err != nil {
		return last, nil, err
	}
	earlier := j.earlier()
	session, err := j.agent.Start(agent.Job{
		Dir: j.dir, Root: filepath.Dir(j.tree.Common), Prompt: bound.Text, Env: append(j.environ(desk.Name()), guard...),
		Session: earlier.ID, Used: earlier.Used, MaxCost: j.maxCost(), Mind: j.r.mind,
	})
	if err != nil {
		return last, nil, err
	}
	rec := newRecord(j)
	recording, stopped := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { rec.keep(recording) })
	last, why = j.watch(ctx, session, bound.Calls, rec.take)
	stopped()
	wg.Wait()
	rec.finish(ctx)
	return last, why, nil
}

// locate tells the board where the work is, now that the worktree is prepared.
func (j *job) locate(ctx context.Context) {
	at := j.seat.Where(ctx)
	at.Client = j.agent.Name()
	j.h.Claim.Where = at
	if c := j.h.Dossier.Claim; c != nil {
		c.Where = at
	}
	for n := range j.h.Attempts {
		if j.h.Attempts[n].Attempt == j.h.Claim.Attempt {
			j.h.Attempts[n].Where = at
		}
	}
	if err := j.r.o.Board.Locate(ctx, j.actor(), j.h.Claim.Handle, at); err != nil {
		j.tell(Trouble, fmt.Sprintf("the place of the work could not be noted: %v", err))
	}
}

// watch watches the agent until it has ended, and ends it when the job is over: the runner ends,
// a limit is reached, or the claim has ended. note is called with each event.
func (j *job) watch(ctx context.Context, session agent.Session, calls func() int, note func(agent.Event)) (last agent.Event, why error) {
	var once sync.Once
	end := func(err error) {
		once.Do(func() {
			why = err
			go session.End()
		})
	}
	began := time.Now()
	active, parting, finished, waits := began, time.Time{}, time.Time{}, began
	first, told, calling := j.agent.Tools(), false, false
	var pending atomic.Int32 // permissions that people have not given or refused yet
	every := min(look, max(j.h.Claim.Lease/4, 100*time.Millisecond))
	tick := time.NewTicker(every)
	defer tick.Stop()
	limits := j.r.o.Limits
	events, stopped := session.Events(), ctx.Done()
	for {
		select {
		case e, ok := <-events:
			if !ok {
				if first && why == nil {
					why = fmt.Errorf("%w: it ended before its first sign of work%s", errUnusable, output(last))
				}
				return last, why
			}
			e = j.converse(e)
			note(e)
			if u := e.Usage; u != nil && u.Priced {
				j.priced = true
				if j.isReview() {
					j.r.today.reviewed(u.Cost - j.cost)
				}
				j.cost = u.Cost
				if err := j.overrun(u.Cost); err != nil {
					end(err)
				}
			}
			switch last = e; e.Kind {
			case agent.Activity:
				active, first, calling = time.Now(), false, e.Calling
				if text := e.Whole(); text != "" {
					j.tell(Said, text)
				}
			case agent.Asks:
				active, first, calling = time.Now(), false, e.Calling
				pending.Add(1)
				go func() {
					defer pending.Add(-1)
					j.permit(ctx, *e.Permission)
				}()
			case agent.Waits:
				waits = e.Until
				j.tell(Said, "waits for its model until "+e.Until.Format("15:04:05"))
			case agent.Turn:
				active, first, calling = time.Now(), false, false
				j.turned = j.turned || e.Fault == ""
				over, err := j.turn(ctx, session, e, told)
				if err != nil {
					end(err)
				}
				if told = true; over && finished.IsZero() {
					finished = time.Now()
				}
			}
			continue
		case <-stopped:
			stopped = nil
			end(errEnded)
			continue
		case <-tick.C:
		}
		if pending.Load() > 0 || calls() > 0 { // it waits for people, or for a check
			active = time.Now()
		}
		j.mu.Lock()
		if j.called.After(active) {
			active = j.called
		}
		j.mu.Unlock()
		now := time.Now()
		waited := waits // until when it had to wait, so far
		if now.Before(waits) {
			waited = now
		}
		if waited.After(active) {
			active = waited
		}
		silence := limits.Silence
		if calling || !j.agent.Tools() {
			silence = limits.Call
		}
		switch {
		case ctx.Err() != nil:
		case !finished.IsZero() && now.Sub(finished) > limits.Parting:
			end(nil)
		case limits.Job > 0 && now.Sub(began) > limits.Job:
			end(fmt.Errorf("it took longer than %v", limits.Job))
		case limits.First > 0 && first:
			if now.Sub(waited) > limits.First {
				end(fmt.Errorf("%w: no sign of work in its first %v", errUnusable, limits.First))
			}
		case silence > 0 && now.Sub(active) > silence:
			end(fmt.Errorf("it gave no sign of work for %v", silence))
		}
		if err := j.daySpent(ctx); err != nil {
			end(err)
		}
		held, err := j.r.o.Board.Renew(ctx, j.seat.Actor.Owner, time.Since(active) < look)
		switch {
		case err != nil:
			if ctx.Err() == nil {
				j.tell(Trouble, fmt.Sprintf("the claim could not be renewed: %v", err))
			}
		case slices.ContainsFunc(held, func(c board.Claim) bool { return c.Handle == j.h.Claim.Handle }):
			if !parting.IsZero() {
				parting = time.Time{}
				tick.Reset(every)
			}
		case parting.IsZero():
			parting = time.Now()
		}
		if !parting.IsZero() {
			own, err := j.byItself(ctx)
			switch {
			case err != nil:
			case !own && (time.Since(parting) < lastWords || calls() > 0 && time.Since(parting) < limits.Grace):
				tick.Reset(min(every, lastWords))
			case !own:
				end(errLost)
			case time.Since(parting) > limits.Parting:
				end(nil)
			}
		}
	}
}

// turn decides what follows when the agent has ended its turn. An agent that has not reported is
// reminded once, and after each turn in which people refused something; otherwise the session is over, and the agent may exit. The error is why the job
// has to end.
func (j *job) turn(ctx context.Context, session agent.Session, e agent.Event, told bool) (over bool, err error) {
	switch e.Fault {
	case agent.Limited:
		return true, &limitError{j.r.rest(j.agent.Name(), e.Until)}
	case agent.Unusable:
		return true, fmt.Errorf("%w: %s", errUnusable, e.Text)
	}
	text := notReported
	if j.isReview() {
		text = noVerdict
	}
	if held, err := j.holds(ctx); err == nil && held && (!told || e.Refused) && session.Tell(text) {
		return false, nil
	}
	session.Finish()
	return true, nil
}

// notReported is what an agent is told that has ended its turn without a report.
const notReported = "You have not reported. If the task is done, call report_task_done; otherwise call report_task_failed."

// errUnusable is why a job was ended: the agent cannot work here.
var errUnusable = errors.New("the agent cannot work")

// A limitError is why a job was ended: the agent's account has reached its limit.
type limitError struct{ until time.Time }

func (e *limitError) Error() string {
	return "the limit of the agent's account is reached until " + e.until.Format("15:04:05")
}

// errLost is why a job was ended: its claim has ended, and not by its agent.
var errLost = errors.New("the claim has ended")

// holds reports whether the job's claim is in force.
func (j *job) holds(ctx context.Context) (bool, error) {
	if j.isReview() {
		now, err := j.ruling(ctx)
		return now.held, err
	}
	now, err := j.attempt(ctx)
	return now.held, err
}

// byItself reports whether the job's agent itself ended the claim, by a report, a question or a verdict.
func (j *job) byItself(ctx context.Context) (bool, error) {
	if j.isReview() {
		now, err := j.ruling(ctx)
		return now.kind != "", err
	}
	a, err := j.attempt(ctx)
	return a.Cause == board.CauseDone || a.Cause == board.CauseFailed || a.Cause == board.CauseNotNow || a.Cause == board.CauseParked, err
}

// attempt reads the job's attempt as the board has it now.
func (j *job) attempt(ctx context.Context) (standing, error) {
	return j.r.standing(ctx, j.h.Claim.Handle)
}

// standing reads the attempt under a claim as the board has it now; it is zero if there is none.
func (r *Runner) standing(ctx context.Context, h board.Handle) (now standing, err error) {
	d, err := r.o.Board.Get(ctx, h.Task, 0)
	if err != nil {
		return now, err
	}
	for _, at := range d.Attempts {
		if at.Handle == h {
			now.Attempt = at
		}
	}
	now.held = d.Claim != nil && d.Claim.Handle == h
	now.task, now.spec = d.Task.Status, d.Task.SpecVersion
	at, ok := d.Accepted()
	now.accepted = ok && at.Handle == h
	now.landed = now.accepted && d.Doc.Result != nil && d.Doc.Result.Landed != ""
	now.unchanged = now.accepted && d.Doc.Result != nil && d.Doc.Result.NoChanges
	for _, q := range d.Questions {
		if q.Claim == h && q.State == board.QuestionOpen && q.Blocking {
			now.asks = q.ID
		}
	}
	now.later = now.Attempt.Attempt != 0 && d.Task.Attempt > h.Attempt
	return now, nil
}

// A standing is a job's attempt as the board has it: held if the claim is in force, later if
// there was another attempt after it, accepted if the task is done with it, landed if that work is
// in the target, unchanged if it was reported without changes. task is how the task stands, spec the version of its text, and asks a question of the attempt that the task has to wait for, or zero.
type standing struct {
	board.Attempt
	held, later, accepted, landed, unchanged bool
	task                                     board.Status
	spec                                     int
	asks                                     board.QuestionID
}
