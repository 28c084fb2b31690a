package access

import (
	"context"

	"github.com/bossman-dev/bossman/board"
)

// AsWorker is a board that lets its caller do no more than a worker may, whatever rights the caller
// has. Everything else ends with the error refused, new tasks have to be drafts, and nothing is landed:
// that is up to the process that runs the worker.
func AsWorker(b Board, refused error) Board { return &workerBoard{b, refused} }

type workerBoard struct {
	Board
	refused error
}

func (b *workerBoard) Create(ctx context.Context, a board.Actor, n board.NewTask, key string) (board.Task, board.Doc, error) {
	if !n.Hold {
		return board.Task{}, board.Doc{}, b.refused
	}
	return b.Board.Create(ctx, a, n, key)
}

func (b *workerBoard) CreateUnder(ctx context.Context, a board.Actor, h board.Handle, n board.NewTask, key string) (board.Task, board.Doc, error) {
	if !n.Hold {
		return board.Task{}, board.Doc{}, b.refused
	}
	return b.Board.CreateUnder(ctx, a, h, n, key)
}

func (b *workerBoard) CreatePlan(ctx context.Context, a board.Actor, p board.Plan) (board.Planned, error) {
	if !p.Hold && !p.DryRun {
		return board.Planned{}, b.refused
	}
	return b.Board.CreatePlan(ctx, a, p)
}

func (b *workerBoard) Answer(context.Context, board.Actor, board.QuestionID, string) (board.Question, error) {
	return board.Question{}, b.refused
}

func (b *workerBoard) Update(context.Context, board.Actor, board.ID, board.Edit) (board.Task, error) {
	return board.Task{}, b.refused
}

func (b *workerBoard) Cancel(context.Context, board.Actor, board.ID, string, board.Dependents) ([]board.ID, error) {
	return nil, b.refused
}

func (b *workerBoard) Review(context.Context, board.Actor, board.ID, board.Decision) (board.Outcome, error) {
	return board.Outcome{}, b.refused
}

func (b *workerBoard) Comment(context.Context, board.Actor, board.ID, []board.Comment) error {
	return b.refused
}

func (b *workerBoard) MarkDone(context.Context, board.Actor, board.ID, string, bool) (board.Outcome, error) {
	return board.Outcome{}, b.refused
}

func (b *workerBoard) Reopen(context.Context, board.Actor, board.ID, string, ...board.ID) (board.Task, error) {
	return board.Task{}, b.refused
}

func (b *workerBoard) Release(context.Context, board.Actor, board.ID, string) (board.Task, error) {
	return board.Task{}, b.refused
}

func (b *workerBoard) Stop(context.Context, board.Actor, board.WorkerID) (board.ID, error) {
	return board.ID{}, b.refused
}

func (b *workerBoard) Pause(context.Context, board.Actor, string) error { return b.refused }

func (b *workerBoard) Resume(context.Context, board.Actor, string) error { return b.refused }

func (b *workerBoard) Erase(context.Context, board.Actor, board.ID, string) (board.Task, error) {
	return board.Task{}, b.refused
}

func (b *workerBoard) Redact(context.Context, board.Actor, board.ID, int64, string) error {
	return b.refused
}

func (b *workerBoard) SetProject(context.Context, board.Project) error { return b.refused }

func (b *workerBoard) SetLand(context.Context, board.Actor, string, string) error { return b.refused }

func (b *workerBoard) Lead(context.Context, board.Actor, board.Lease) (board.Lease, error) {
	return board.Lease{}, b.refused
}

func (b *workerBoard) StepDown(context.Context, board.Actor, board.Lease) error { return b.refused }

func (b *workerBoard) BeginLand(context.Context, board.Actor, board.Lease, string, string, []board.Item) (board.Intent, error) {
	return board.Intent{}, b.refused
}

func (b *workerBoard) Landed(context.Context, board.Actor, board.Lease, board.IntentID, map[board.ID]string) ([]board.Outcome, error) {
	return nil, b.refused
}

func (b *workerBoard) Dropped(context.Context, board.Actor, board.Lease, board.IntentID) error {
	return b.refused
}

func (b *workerBoard) Told(context.Context, board.Actor, board.Issue) error { return b.refused }

func (b *workerBoard) Return(context.Context, board.Actor, board.ID, board.Return) (board.Outcome, error) {
	return board.Outcome{}, b.refused
}
