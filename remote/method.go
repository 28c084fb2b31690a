package remote

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// The methods of a board.Board, asked for at the server.

// Whoami tells who this machine's key is.
func (b *Board) Whoami(ctx context.Context) (Me, error) {
	return fetch[Me](ctx, b, "whoami", nil, none{})
}

func (b *Board) Projects(ctx context.Context) ([]board.Project, error) {
	return fetch[[]board.Project](ctx, b, "projects", nil, none{})
}

func (b *Board) Project(ctx context.Context, slug string) (board.Project, error) {
	return fetch[board.Project](ctx, b, "project", nil, slugIn{slug})
}

func (b *Board) Summary(ctx context.Context, slug string) (board.Summary, error) {
	return fetch[board.Summary](ctx, b, "summary", nil, slugIn{slug})
}

func (b *Board) List(ctx context.Context, f board.TaskFilter) ([]board.Task, error) {
	return fetch[[]board.Task](ctx, b, "list", nil, f)
}

func (b *Board) Get(ctx context.Context, id board.ID, n int) (board.Dossier, error) {
	return fetch[board.Dossier](ctx, b, "get", nil, getIn{id, n})
}

func (b *Board) Why(ctx context.Context, id board.ID) (board.Dossier, []board.Reason, error) {
	out, err := fetch[whyOut](ctx, b, "why", nil, getIn{ID: id})
	return out.Dossier, out.Reasons, err
}

func (b *Board) Events(ctx context.Context, id board.ID, after int64, limit int) ([]board.Event, error) {
	return fetch[[]board.Event](ctx, b, "events", nil, eventsIn{id, after, limit})
}

func (b *Board) Claims(ctx context.Context, f board.ClaimFilter) ([]board.Claim, error) {
	return fetch[[]board.Claim](ctx, b, "claims", nil, f)
}

func (b *Board) Workers(ctx context.Context, since time.Duration) ([]board.Worker, time.Time, error) {
	out, err := fetch[workersOut](ctx, b, "workers", nil, workersIn{since})
	return out.Workers, out.Now, err
}

func (b *Board) Questions(ctx context.Context, f board.QuestionFilter) ([]board.Question, error) {
	return fetch[[]board.Question](ctx, b, "questions", nil, f)
}

func (b *Board) Question(ctx context.Context, id board.QuestionID) (board.Question, error) {
	return fetch[board.Question](ctx, b, "question", nil, questionIn{ID: id})
}

// Await waits for an answer, in pieces that the server allows: it may also end one
// before its time, because a replica ends.
func (b *Board) Await(ctx context.Context, id board.QuestionID, d time.Duration) (board.Question, error) {
	deadline := time.Now().Add(d)
	for {
		begun := time.Now()
		left := max(deadline.Sub(begun), 0)
		q, err := fetch[board.Question](ctx, b, "await", nil, questionIn{id, left})
		if err != nil || q.State != board.QuestionOpen || time.Now().After(deadline) {
			return q, err
		}
		if time.Since(begun) < min(left, longest) {
			if err := rest(ctx, firstPause); err != nil {
				return q, err
			}
		}
	}
}

func (b *Board) Feed(ctx context.Context, projects []string, after board.Cursor, limit int) ([]board.Event, error) {
	return fetch[[]board.Event](ctx, b, "feed", nil, feedIn{projects, after, limit})
}

func (b *Board) FeedEnd(ctx context.Context) (board.Cursor, error) {
	return fetch[board.Cursor](ctx, b, "feedEnd", nil, none{})
}

func (b *Board) Next(ctx context.Context, a board.Actor, w board.Wish) (*board.Handout, error) {
	w.Key = keyOr(w.Key)
	h, err := fetch[*board.Handout](ctx, b, "next", &a, w)
	if h != nil {
		h.Dossier.Claim = &h.Claim // which it hides on the wire
	}
	return h, err
}

func (b *Board) Renew(ctx context.Context, owner string) ([]board.Claim, error) {
	return fetch[[]board.Claim](ctx, b, "renew", nil, ownerIn{owner})
}

func (b *Board) Leave(ctx context.Context, owner string) error {
	_, err := fetch[none](ctx, b, "leave", nil, ownerIn{owner})
	return err
}

func (b *Board) Progress(ctx context.Context, a board.Actor, h board.Handle, n board.Note) (board.Notice, error) {
	return fetch[board.Notice](ctx, b, "progress", &a, progressIn{h, n})
}

func (b *Board) Done(ctx context.Context, a board.Actor, h board.Handle, r board.Report) (board.Outcome, error) {
	return outcomeOf(fetch[outcome](ctx, b, "done", &a, doneIn{h, r}))
}

func (b *Board) Fail(ctx context.Context, a board.Actor, h board.Handle, f board.Failure) (board.Outcome, error) {
	return outcomeOf(fetch[outcome](ctx, b, "fail", &a, failIn{h, f}))
}

func outcomeOf(o outcome, err error) (board.Outcome, error) {
	o.Outcome.Again = o.Again
	return o.Outcome, err
}

func (b *Board) Ask(ctx context.Context, a board.Actor, n board.NewQuestion) (board.Question, error) {
	n.Key = keyOr(n.Key)
	return fetch[board.Question](ctx, b, "ask", &a, n)
}

func (b *Board) Park(ctx context.Context, a board.Actor, id board.QuestionID) (board.Question, bool, error) {
	out, err := fetch[parkOut](ctx, b, "park", &a, questionIn{ID: id})
	return out.Question, out.Parked, err
}

func (b *Board) Create(ctx context.Context, a board.Actor, n board.NewTask, key string) (board.Task, board.Doc, error) {
	out, err := fetch[createOut](ctx, b, "create", &a, createIn{Task: n, Key: keyOr(key)})
	return out.Task, out.Doc, err
}

func (b *Board) CreateUnder(ctx context.Context, a board.Actor, h board.Handle, n board.NewTask, key string) (board.Task, board.Doc, error) {
	out, err := fetch[createOut](ctx, b, "createUnder", &a, createIn{h, n, keyOr(key)})
	return out.Task, out.Doc, err
}

func (b *Board) CreatePlan(ctx context.Context, a board.Actor, p board.Plan) (board.Planned, error) {
	if !p.DryRun {
		p.Key = keyOr(p.Key)
	}
	return fetch[board.Planned](ctx, b, "createPlan", &a, p)
}

func (b *Board) Answer(ctx context.Context, a board.Actor, id board.QuestionID, answer string) (board.Question, error) {
	return fetch[board.Question](ctx, b, "answer", &a, answerIn{id, answer})
}

func (b *Board) Update(ctx context.Context, a board.Actor, id board.ID, e board.Edit) (board.Task, error) {
	return fetch[board.Task](ctx, b, "update", &a, updateIn{id, e})
}

func (b *Board) Cancel(ctx context.Context, a board.Actor, id board.ID, reason string, deps board.Dependents) ([]board.ID, error) {
	return fetch[[]board.ID](ctx, b, "cancel", &a, cancelIn{id, reason, deps})
}

func (b *Board) Review(ctx context.Context, a board.Actor, id board.ID, v board.Verdict, note string) (board.Outcome, error) {
	return outcomeOf(fetch[outcome](ctx, b, "review", &a, reviewIn{id, v, note}))
}

func (b *Board) Release(ctx context.Context, a board.Actor, id board.ID, reason string) (board.Task, error) {
	return fetch[board.Task](ctx, b, "release", &a, cancelIn{ID: id, Reason: reason})
}

func (b *Board) Stop(ctx context.Context, a board.Actor, w board.WorkerID) (board.ID, error) {
	return fetch[board.ID](ctx, b, "stop", &a, w)
}

func (b *Board) Pause(ctx context.Context, a board.Actor, slug string) error {
	_, err := fetch[none](ctx, b, "pause", &a, slugIn{slug})
	return err
}

func (b *Board) Resume(ctx context.Context, a board.Actor, slug string) error {
	_, err := fetch[none](ctx, b, "resume", &a, slugIn{slug})
	return err
}

func (b *Board) SetProject(ctx context.Context, p board.Project) error {
	_, err := fetch[none](ctx, b, "setProject", nil, p)
	return err
}

// keyOr is the caller's key, or a new one: a call whose answer was lost is repeated,
// and must not be done twice.
func keyOr(key string) string {
	if key != "" {
		return key
	}
	return rand.Text()
}
