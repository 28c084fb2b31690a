package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
)

func (b *Board) Questions(ctx context.Context, f board.QuestionFilter) ([]board.Question, error) {
	return fetchRows(ctx, b, questions, f.Limit, func(last *board.Question, n int) board.QuestionFilter {
		if f.Limit = n; last != nil {
			f.After = last.ID
		}
		return f
	})
}

var questions = op(access.Questions, func(ctx context.Context, c *call, f board.QuestionFilter) (_ []board.Question, err error) {
	if f.Projects, err = c.among(f.Projects); err != nil {
		return nil, err
	}
	return rows(c, f.Limit, func(last *board.Question, n int) ([]board.Question, error) {
		if f.Limit = n; last != nil {
			f.After = last.ID
		}
		return c.Questions(ctx, f)
	})
})

type questionIn struct {
	ID   board.QuestionID
	Wait time.Duration
}

func (b *Board) Question(ctx context.Context, id board.QuestionID) (board.Question, error) {
	return question.fetch(ctx, b, nil, questionIn{ID: id})
}

var question = op(access.Question, func(ctx context.Context, c *call, in questionIn) (board.Question, error) {
	return c.question(ctx, in.ID)
})

// Await waits for an answer, in calls no longer than the server allows. The server
// may also end one early, because a replica shuts down.
func (b *Board) Await(ctx context.Context, id board.QuestionID, d time.Duration) (board.Question, error) {
	deadline := time.Now().Add(d)
	for {
		begun := time.Now()
		left := max(deadline.Sub(begun), 0)
		q, err := await.fetch(ctx, b, nil, questionIn{id, left})
		if err != nil || q.State != board.QuestionOpen || time.Now().After(deadline) {
			return q, err
		}
		if time.Since(begun) < min(left, maxWait) {
			if err := sleep(ctx, firstPause); err != nil {
				return q, err
			}
		}
	}
}

var await = op(access.Await, func(ctx context.Context, c *call, in questionIn) (board.Question, error) {
	if q, err := c.question(ctx, in.ID); err != nil {
		return q, err
	}
	if in.Wait > 0 {
		defer c.wait()()
	}
	return c.Await(ctx, in.ID, min(in.Wait, maxWait))
})

func (b *Board) Ask(ctx context.Context, a board.Actor, n board.NewQuestion) (board.Question, error) {
	n.Key = keyOr(n.Key)
	return ask.fetch(ctx, b, &a, n)
}

var ask = op(access.Ask, func(ctx context.Context, c *call, n board.NewQuestion) (board.Question, error) {
	project := n.Project
	if !n.Claim.IsZero() {
		project = n.Claim.Task.Project
	}
	if err := c.may(project); err != nil {
		return board.Question{}, err
	}
	return c.Ask(ctx, c.actor, n)
})

type parkOut struct {
	Question board.Question
	Parked   bool
}

func (b *Board) Park(ctx context.Context, a board.Actor, id board.QuestionID) (board.Question, bool, error) {
	out, err := park.fetch(ctx, b, &a, questionIn{ID: id})
	return out.Question, out.Parked, err
}

var park = op(access.Park, func(ctx context.Context, c *call, in questionIn) (out parkOut, err error) {
	if _, err := c.question(ctx, in.ID); err != nil {
		return out, err
	}
	out.Question, out.Parked, err = c.Park(ctx, c.actor, in.ID)
	return out, err
})

type answerIn struct {
	ID     board.QuestionID
	Answer string
}

func (b *Board) Answer(ctx context.Context, a board.Actor, id board.QuestionID, text string) (board.Question, error) {
	return answer.fetch(ctx, b, &a, answerIn{id, text})
}

// A person's key lets a worker's machine answer only while the person is there.
var answer = op(access.Answer, func(ctx context.Context, c *call, in answerIn) (board.Question, error) {
	c.caller.Person = c.actor.Person
	if q, err := c.question(ctx, in.ID); err != nil {
		return q, err
	}
	return c.Answer(ctx, c.actor, in.ID, in.Answer)
})

// question finds a question of the caller's projects. All projects share one sequence
// of numbers, so a question of another project gets the same answer as one that does
// not exist.
func (c *call) question(ctx context.Context, id board.QuestionID) (board.Question, error) {
	q, err := c.Question(ctx, id)
	if err == nil {
		err = c.may(q.Project)
	}
	if errors.Is(err, board.ErrNotFound) {
		return board.Question{}, fmt.Errorf("%w: question %v", board.ErrNotFound, id)
	}
	return q, err
}
