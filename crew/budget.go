package crew

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
)

const (
	// askedFor is how long the board's answer about what a day has cost is good for: agents tell
	// the board what they cost every few seconds.
	askedFor = recordEvery / 2
	// restSlice is how long a slot rests at most before it looks at the board again. The clock of a
	// machine that sleeps stands still.
	restSlice = time.Minute
)

// today is what a runner knows about the costs of the day, and which agents tell them.
type today struct {
	mu       sync.Mutex
	asked    time.Time
	spending board.Spending

	// reviews is what the reviews of this runner have cost on the day that ends then, in dollars. The board
	// keeps the costs of attempts only.
	reviews float64
	ends    time.Time

	unpriced map[string]bool // agents that people were told tell no price
	free     int             // slots at work on tasks whose agents tell no price
}

// enter notes a slot that begins to work, and leave one that has ended.
func (t *today) enter(s *slot) {
	if !s.agent.Prices() {
		t.sayUnpriced(s)
		t.mu.Lock()
		defer t.mu.Unlock()
		if !s.reviews {
			t.free++
		}
	}
}

// reviewed adds to what reviews have cost.
func (t *today) reviewed(dollars float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reviews += max(0, dollars)
}

func (t *today) leave(s *slot) {
	if !s.agent.Prices() && !s.reviews {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.free--
	}
}

// sayUnpriced says once for each agent that tells no price that no budget holds for it.
func (t *today) sayUnpriced(s *slot) {
	if l := s.r.o.Limits; l.Cost == 0 && l.Day == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if name := s.agent.Name(); !t.unpriced[name] {
		if t.unpriced == nil {
			t.unpriced = map[string]bool{}
		}
		t.unpriced[name] = true
		s.report(Trouble, name+" tells no price: no budget holds for it")
	}
}

// frees reports whether a slot is at work whose agent tells no price.
func (t *today) frees() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.free > 0
}

// left returns what is left of the budget of the day, in dollars, and how long the day lasts. What
// the board has just answered will do unless fresh is set.
func (r *Runner) left(ctx context.Context, fresh bool) (dollars float64, lasts time.Duration, err error) {
	t := &r.today
	t.mu.Lock()
	defer t.mu.Unlock()
	if fresh || t.asked.IsZero() || time.Since(t.asked) > askedFor {
		if t.spending, err = r.o.Board.Spent(ctx, r.o.Project); err != nil {
			return 0, 0, fmt.Errorf("the board does not say what today has cost: %w", err)
		}
		t.asked = time.Now()
		if !t.spending.Ends.Equal(t.ends) {
			t.ends, t.reviews = t.spending.Ends, 0
		}
	}
	return (math.Round((r.o.Limits.Day-t.reviews)*1e6) - float64(t.spending.Cost)) / 1e6, t.spending.Ends.Sub(t.spending.Now), nil
}

// Dollars is an amount of dollars as people read it.
func Dollars(amount float64) string { return board.Dollars(int64(math.Round(amount * 1e6))) }

// A BudgetError is why a job was ended, or why none begins: the budget of the day is spent.
type BudgetError struct {
	// Day is the budget, in dollars.
	Day float64
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("the budget of the day (%s) is spent; goes on at 00:00 UTC, or raise [budget] day and start again", Dollars(e.Day))
}

// sayOnce leaves one of several BudgetErrors.
func sayOnce(errs []error) []error {
	said := false
	return slices.DeleteFunc(errs, func(err error) bool {
		_, spent := errors.AsType[*BudgetError](err)
		again := spent && said
		said = said || spent
		return again
	})
}

// budgeted reports whether the budget of the day is the slot's matter.
func (s *slot) budgeted() bool { return s.r.o.Limits.Day > 0 && s.agent.Prices() }

// afford waits while the budget of the day is spent. A slot that ends when nothing is left does not
// wait for the next day: it ends with a BudgetError when nobody works on what is left.
func (s *slot) afford(ctx, drain context.Context) error {
	rests := false
	for pause := retryFirst; s.budgeted() && drain.Err() == nil && ctx.Err() == nil; {
		left, lasts, err := s.r.left(ctx, true)
		switch {
		case err != nil:
			if drain.Err() == nil {
				s.report(Trouble, fmt.Sprintf("%v; next try in %v", err, pause))
			}
			wait(drain, pause)
			pause = min(2*pause, retryLast)
			continue
		case left > 0:
			if rests {
				s.report(Waiting, "waits for a "+s.what())
			}
			return nil
		}
		spent := &BudgetError{s.r.o.Limits.Day}
		if s.r.o.UntilEmpty {
			lasts = retryFirst
			s.r.looked(s, time.Now()) // it would take none now
			if empty, err := s.r.empty(ctx, false); err == nil && empty {
				if s.reviews && s.r.inReview(ctx) {
					return spent
				}
				return nil
			}
			if idle, err := s.r.empty(ctx, true); err == nil && idle && !s.r.today.frees() {
				return spent
			}
		}
		if !rests {
			s.report(Rests, spent.Error())
			rests = true
		}
		wait(drain, min(max(lasts, retryFirst), restSlice))
	}
	return nil
}

// allot notes what is left of the day's budget for a job that begins. The error is why it cannot
// begin.
func (j *job) allot(ctx context.Context) error {
	if !j.budgeted() {
		return nil
	}
	left, _, err := j.r.left(ctx, true)
	if err == nil && left <= 0 {
		err = &BudgetError{j.r.o.Limits.Day}
	}
	j.left = left
	return err
}

// maxCost is what the job may cost, in dollars; 0 is no limit.
func (j *job) maxCost() float64 {
	limit := j.r.o.Limits.Cost
	if j.left > 0 && (limit == 0 || j.left < limit) {
		limit = j.left
	}
	return limit
}

// A costError is why a job was ended: it has cost too much.
type costError struct{ cost, limit float64 }

func (e *costError) Error() string {
	return fmt.Sprintf("it has cost %s, and %s is what an attempt may cost (--max-cost, or [budget] task)", Dollars(e.cost), Dollars(e.limit))
}

// overrun returns why a job that has cost so much has to end, nil if it need not.
func (j *job) overrun(cost float64) error {
	limits := j.r.o.Limits
	switch {
	case limits.Cost > 0 && cost >= limits.Cost:
		return &costError{cost, limits.Cost}
	case j.left > 0 && cost >= j.left:
		return &BudgetError{limits.Day}
	}
	return nil
}

// daySpent returns why a job has to end because of what it and others have told the board, nil if it
// need not. Only a job that adds to the costs does.
func (j *job) daySpent(ctx context.Context) error {
	if !j.priced || !j.budgeted() {
		return nil
	}
	if left, _, err := j.r.left(ctx, false); err != nil || left > 0 {
		return nil
	}
	return &BudgetError{j.r.o.Limits.Day}
}

// overBudget parks a task whose attempt has cost too much, or more than the day's budget has left,
// with a question to people, which no agent answers for them. One goes on with it when they have
// answered.
func (j *job) overBudget(ctx, runner context.Context, why error) Result {
	end := fmt.Sprintf("bossman task cancel %v ends the task.", j.h.Task.ID)
	text := fmt.Sprintf("The agent was ended: %v. What it did is kept. Any answer lets an agent go on, for as much again; %s", why, end)
	if _, day := errors.AsType[*BudgetError](why); day {
		text = fmt.Sprintf("The agent was ended: the budget of the day (%s) is spent. What it did is kept. Any answer lets an agent go on when there is a budget again, from 00:00 UTC or when [budget] day is raised; %s", Dollars(j.r.o.Limits.Day), end)
	}
	err := j.fail(ctx, runner, board.Failure{Kind: board.FailBlocked, Reason: text, HumanOnly: true})
	return j.failed(err, Parked, why.Error())
}
