package tools

import (
	"context"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// A Board is what the tools need of a board: one in this process, or one of a server.
// Package board tells what its methods do.
type Board interface {
	Project(ctx context.Context, slug string) (board.Project, error)
	Summary(ctx context.Context, slug string) (board.Summary, error)
	List(ctx context.Context, f board.TaskFilter) ([]board.Task, error)
	Get(ctx context.Context, id board.ID, events int) (board.Dossier, error)
	Why(ctx context.Context, id board.ID) (board.Dossier, []board.Reason, error)
	Claims(ctx context.Context, f board.ClaimFilter) ([]board.Claim, error)
	Workers(ctx context.Context, since time.Duration) ([]board.Worker, time.Time, error)
	Feed(ctx context.Context, projects []string, after board.Cursor, limit int) ([]board.Event, error)
	FeedEnd(ctx context.Context) (board.Cursor, error)
	Wait(ctx context.Context, d time.Duration)

	Next(ctx context.Context, a board.Actor, w board.Wish) (*board.Handout, error)
	Renew(ctx context.Context, owner string) ([]board.Claim, error)
	Leave(ctx context.Context, owner string) error
	Progress(ctx context.Context, a board.Actor, h board.Handle, n board.Note) (board.Notice, error)
	Done(ctx context.Context, a board.Actor, h board.Handle, r board.Report) (board.Outcome, error)
	Fail(ctx context.Context, a board.Actor, h board.Handle, f board.Failure) (board.Outcome, error)

	Ask(ctx context.Context, a board.Actor, n board.NewQuestion) (board.Question, error)
	Await(ctx context.Context, id board.QuestionID, d time.Duration) (board.Question, error)
	Park(ctx context.Context, a board.Actor, id board.QuestionID) (q board.Question, parked bool, err error)
	Question(ctx context.Context, id board.QuestionID) (board.Question, error)
	Questions(ctx context.Context, f board.QuestionFilter) ([]board.Question, error)
	Answer(ctx context.Context, a board.Actor, id board.QuestionID, answer string) (board.Question, error)

	Create(ctx context.Context, a board.Actor, n board.NewTask, key string) (board.Task, board.Doc, error)
	CreateUnder(ctx context.Context, a board.Actor, h board.Handle, n board.NewTask, key string) (board.Task, board.Doc, error)
	CreatePlan(ctx context.Context, a board.Actor, p board.Plan) (board.Planned, error)
	Update(ctx context.Context, a board.Actor, id board.ID, e board.Edit) (board.Task, error)
	Cancel(ctx context.Context, a board.Actor, id board.ID, reason string, deps board.Dependents) ([]board.ID, error)
	Review(ctx context.Context, a board.Actor, id board.ID, v board.Verdict, note string) (board.Outcome, error)
}

var _ Board = (*board.Board)(nil)
