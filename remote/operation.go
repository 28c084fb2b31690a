package remote

import (
	"context"
	"slices"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

// longest is how long a call may wait for something.
const longest = 45 * time.Second

// maxRows bounds a list.
const maxRows = 1000

// operations are all there are. The second argument is the least role in the
// project that a call is about.
var operations = []*operation{
	op("whoami", auth.Viewer, whoami),

	// Looking.
	op("projects", auth.Viewer, projects),
	op("project", auth.Viewer, project),
	op("summary", auth.Viewer, summary),
	op("list", auth.Viewer, list),
	op("get", auth.Viewer, get),
	op("why", auth.Viewer, why),
	op("events", auth.Viewer, events),
	op("claims", auth.Viewer, claims),
	op("workers", auth.Viewer, workers),
	op("questions", auth.Viewer, questions),
	op("question", auth.Viewer, question),
	op("await", auth.Viewer, await),
	op("feed", auth.Viewer, feed),
	op("feedEnd", auth.Viewer, feedEnd),

	// Working.
	op("next", auth.Worker, next),
	op("renew", auth.Worker, renew),
	op("leave", auth.Worker, leave),
	op("progress", auth.Worker, progress),
	op("done", auth.Worker, done),
	op("fail", auth.Worker, fail),
	op("ask", auth.Worker, ask),
	op("park", auth.Worker, park),
	op("create", auth.Worker, create),
	op("createUnder", auth.Worker, createUnder),
	op("answer", auth.Worker, answer),

	// Leading.
	op("createPlan", auth.Lead, createPlan),
	op("update", auth.Lead, update),
	op("cancel", auth.Lead, cancel),
	op("review", auth.Lead, review),
	op("release", auth.Lead, release),
	op("stop", auth.Lead, stop),
	op("pause", auth.Lead, pause),
	op("resume", auth.Lead, resume),

	op("setProject", auth.Admin, setProject),
}

type none struct{}

// A Me is who the caller is to the server.
type Me struct {
	// ID is the principal's, Name what people are shown.
	ID, Name string
	Person   bool
	// Roles are the projects that it may use, and as what.
	Roles map[string]auth.Role
}

// Role is what the caller is in a project, or in any if none is named. Whoever has no
// role there may at most look, and will find nothing.
func (m *Me) Role(project string) auth.Role {
	if project != "" {
		return max(m.Roles[project], auth.Viewer)
	}
	best := auth.Viewer
	for _, r := range m.Roles {
		best = max(best, r)
	}
	return best
}

func whoami(_ context.Context, c *call, _ none) (Me, error) {
	return Me{c.caller.Principal, c.caller.Name, c.caller.Person, c.caller.Roles}, nil
}

func projects(ctx context.Context, c *call, _ none) ([]board.Project, error) {
	all, err := c.Projects(ctx)
	var own []board.Project
	for _, p := range all {
		if c.may(p.Slug) == nil {
			own = append(own, p)
		}
	}
	return own, err
}

type slugIn struct{ Slug string }

func project(ctx context.Context, c *call, in slugIn) (board.Project, error) {
	if err := c.may(in.Slug); err != nil {
		return board.Project{}, err
	}
	return c.Project(ctx, in.Slug)
}

func summary(ctx context.Context, c *call, in slugIn) (board.Summary, error) {
	if err := c.may(in.Slug); err != nil {
		return board.Summary{}, err
	}
	s, err := c.Summary(ctx, in.Slug)
	s.Claims = c.claims(s.Claims)
	return s, err
}

func list(ctx context.Context, c *call, f board.TaskFilter) (_ []board.Task, err error) {
	if f.Projects, err = c.among(f.Projects); err != nil {
		return nil, err
	}
	if !f.After.IsZero() && !slices.Contains(f.Projects, f.After.Project) {
		return nil, board.ErrNotFound // where it would stand tells what others have
	}
	f.Limit = bounded(f.Limit)
	return c.List(ctx, f)
}

func bounded(limit int) int {
	if limit <= 0 || limit > maxRows {
		return maxRows
	}
	return limit
}

type getIn struct {
	ID     board.ID
	Events int
}

func get(ctx context.Context, c *call, in getIn) (board.Dossier, error) {
	if err := c.may(in.ID.Project); err != nil {
		return board.Dossier{}, err
	}
	d, err := c.Get(ctx, in.ID, min(max(in.Events, 0), maxRows))
	return c.dossier(d), err
}

type whyOut struct {
	Dossier board.Dossier
	Reasons []board.Reason
}

func why(ctx context.Context, c *call, in getIn) (out whyOut, err error) {
	if err := c.may(in.ID.Project); err != nil {
		return out, err
	}
	out.Dossier, out.Reasons, err = c.Why(ctx, in.ID)
	out.Dossier = c.dossier(out.Dossier)
	return out, err
}

type eventsIn struct {
	ID    board.ID
	After int64
	Limit int
}

func events(ctx context.Context, c *call, in eventsIn) ([]board.Event, error) {
	if err := c.may(in.ID.Project); err != nil {
		return nil, err
	}
	return c.Events(ctx, in.ID, in.After, bounded(in.Limit))
}

// claims lists the caller's own, or those of a project.
func claims(ctx context.Context, c *call, f board.ClaimFilter) ([]board.Claim, error) {
	if f.Owner != "" {
		f.Owner = c.owner(f.Owner)
	}
	switch {
	case f.Project != "":
		if err := c.may(f.Project); err != nil {
			return nil, err
		}
	case f.Owner == "":
		f.Principal = c.caller.Principal
	}
	cs, err := c.Claims(ctx, f)
	return c.claims(cs), err
}

type workersOut struct {
	Workers []board.Worker
	Now     time.Time
}

type workersIn struct{ Since time.Duration }

// workers lists the caller's own, and those who hold something in its projects.
func workers(ctx context.Context, c *call, in workersIn) (out workersOut, err error) {
	all, now, err := c.Workers(ctx, in.Since)
	if err != nil {
		return out, err
	}
	seen, err := c.seen(ctx)
	if err != nil {
		return out, err
	}
	out.Now = now
	for _, w := range all {
		if w.Principal == c.caller.Principal || seen[w.WorkerID] {
			w.Owner = c.process(w.Owner)
			out.Workers = append(out.Workers, w)
		}
	}
	return out, nil
}

// seen are the workers who hold something in the caller's projects.
func (c *call) seen(ctx context.Context) (map[board.WorkerID]bool, error) {
	slugs, err := c.among(nil)
	if err != nil {
		return nil, err
	}
	seen := map[board.WorkerID]bool{}
	for _, slug := range slugs {
		held, err := c.Claims(ctx, board.ClaimFilter{Project: slug})
		if err != nil {
			return nil, err
		}
		for _, h := range held {
			seen[h.Worker] = true
		}
	}
	return seen, nil
}

func questions(ctx context.Context, c *call, f board.QuestionFilter) (_ []board.Question, err error) {
	if f.Projects, err = c.among(f.Projects); err != nil {
		return nil, err
	}
	f.Limit = bounded(f.Limit)
	return c.Questions(ctx, f)
}

type questionIn struct {
	ID   board.QuestionID
	Wait time.Duration
}

func question(ctx context.Context, c *call, in questionIn) (board.Question, error) {
	return c.question(ctx, in.ID)
}

func await(ctx context.Context, c *call, in questionIn) (board.Question, error) {
	if q, err := c.question(ctx, in.ID); err != nil {
		return q, err
	}
	if in.Wait > 0 {
		defer c.wait()()
	}
	return c.Await(ctx, in.ID, min(in.Wait, longest))
}

type feedIn struct {
	Projects []string
	After    board.Cursor
	Limit    int
}

func feed(ctx context.Context, c *call, in feedIn) ([]board.Event, error) {
	slugs, err := c.among(in.Projects)
	if err != nil {
		return nil, err
	}
	return c.Feed(ctx, slugs, in.After, bounded(in.Limit))
}

func feedEnd(ctx context.Context, c *call, _ none) (board.Cursor, error) { return c.FeedEnd(ctx) }

func next(ctx context.Context, c *call, w board.Wish) (*board.Handout, error) {
	var err error
	if w.Projects, err = c.among(w.Projects); err != nil {
		return nil, err
	}
	w.Wait = min(w.Wait, longest)
	if w.Wait > 0 {
		defer c.wait()()
	}
	h, err := c.Next(ctx, c.actor, w)
	if err != nil {
		return nil, err
	}
	h.Dossier = c.dossier(h.Dossier)
	h.Claim.Owner = c.process(h.Claim.Owner)
	return h, nil
}

type ownerIn struct{ Owner string }

func renew(ctx context.Context, c *call, in ownerIn) ([]board.Claim, error) {
	held, err := c.Renew(ctx, c.owner(in.Owner))
	return c.claims(held), err
}

func leave(ctx context.Context, c *call, in ownerIn) (none, error) {
	return none{}, c.Leave(ctx, c.owner(in.Owner))
}

type progressIn struct {
	Claim board.Handle
	Note  board.Note
}

func progress(ctx context.Context, c *call, in progressIn) (board.Notice, error) {
	if err := c.may(in.Claim.Task.Project); err != nil {
		return board.Notice{}, err
	}
	return c.Progress(ctx, c.actor, in.Claim, in.Note)
}

// An outcome is a board's, with what it keeps to itself elsewhere.
type outcome struct {
	Outcome board.Outcome
	Again   bool
}

type doneIn struct {
	Claim  board.Handle
	Report board.Report
}

func done(ctx context.Context, c *call, in doneIn) (outcome, error) {
	if err := c.may(in.Claim.Task.Project); err != nil {
		return outcome{}, err
	}
	o, err := c.Done(ctx, c.actor, in.Claim, in.Report)
	return outcome{o, o.Again}, err
}

type failIn struct {
	Claim   board.Handle
	Failure board.Failure
}

func fail(ctx context.Context, c *call, in failIn) (outcome, error) {
	if err := c.may(in.Claim.Task.Project); err != nil {
		return outcome{}, err
	}
	o, err := c.Fail(ctx, c.actor, in.Claim, in.Failure)
	return outcome{o, o.Again}, err
}

func ask(ctx context.Context, c *call, n board.NewQuestion) (board.Question, error) {
	project := n.Project
	if !n.Claim.IsZero() {
		project = n.Claim.Task.Project
	}
	if err := c.may(project); err != nil {
		return board.Question{}, err
	}
	return c.Ask(ctx, c.actor, n)
}

type parkOut struct {
	Question board.Question
	Parked   bool
}

func park(ctx context.Context, c *call, in questionIn) (out parkOut, err error) {
	if _, err := c.question(ctx, in.ID); err != nil {
		return out, err
	}
	out.Question, out.Parked, err = c.Park(ctx, c.actor, in.ID)
	return out, err
}

type createIn struct {
	Claim board.Handle
	Task  board.NewTask
	Key   string
}

type createOut struct {
	Task board.Task
	Doc  board.Doc
}

// create makes a task. What an agent makes while it works on one is made under its
// claim, where it is held and bounded; only leads are free of that.
func create(ctx context.Context, c *call, in createIn) (out createOut, err error) {
	if err := c.may(in.Task.Project); err != nil {
		return out, err
	}
	if c.caller.Roles[in.Task.Project] < auth.Lead && !c.actor.Person {
		held, err := c.Claims(ctx, board.ClaimFilter{Project: in.Task.Project, Owner: c.actor.Owner})
		if err != nil {
			return out, err
		}
		if len(held) > 0 {
			return out, board.ErrDenied
		}
	}
	out.Task, out.Doc, err = c.Create(ctx, c.actor, in.Task, in.Key)
	return out, err
}

func createUnder(ctx context.Context, c *call, in createIn) (out createOut, err error) {
	if err := c.may(in.Task.Project); err != nil {
		return out, err
	}
	if err := c.may(in.Claim.Task.Project); err != nil {
		return out, err
	}
	out.Task, out.Doc, err = c.CreateUnder(ctx, c.actor, in.Claim, in.Task, in.Key)
	return out, err
}

type answerIn struct {
	ID     board.QuestionID
	Answer string
}

// answer is for leads, and for the person at an agent's client.
func answer(ctx context.Context, c *call, in answerIn) (board.Question, error) {
	q, err := c.question(ctx, in.ID)
	if err != nil {
		return q, err
	}
	if c.caller.Roles[q.Project] < auth.Lead && !c.actor.Person {
		return q, board.ErrDenied
	}
	return c.Answer(ctx, c.actor, in.ID, in.Answer)
}

func createPlan(ctx context.Context, c *call, p board.Plan) (board.Planned, error) {
	if err := c.may(p.Project); err != nil {
		return board.Planned{}, err
	}
	return c.CreatePlan(ctx, c.actor, p)
}

type updateIn struct {
	ID   board.ID
	Edit board.Edit
}

func update(ctx context.Context, c *call, in updateIn) (board.Task, error) {
	if err := c.may(in.ID.Project); err != nil {
		return board.Task{}, err
	}
	return c.Update(ctx, c.actor, in.ID, in.Edit)
}

type cancelIn struct {
	ID         board.ID
	Reason     string
	Dependents board.Dependents
}

func cancel(ctx context.Context, c *call, in cancelIn) ([]board.ID, error) {
	if err := c.may(in.ID.Project); err != nil {
		return nil, err
	}
	return c.Cancel(ctx, c.actor, in.ID, in.Reason, in.Dependents)
}

type reviewIn struct {
	ID      board.ID
	Verdict board.Verdict
	Note    string
}

func review(ctx context.Context, c *call, in reviewIn) (outcome, error) {
	if err := c.may(in.ID.Project); err != nil {
		return outcome{}, err
	}
	o, err := c.Review(ctx, c.actor, in.ID, in.Verdict, in.Note)
	return outcome{o, o.Again}, err
}

func release(ctx context.Context, c *call, in cancelIn) (board.Task, error) {
	if err := c.may(in.ID.Project); err != nil {
		return board.Task{}, err
	}
	return c.Release(ctx, c.actor, in.ID, in.Reason)
}

// stop is for the caller's own workers, and those who hold something in a project
// that it leads.
func stop(ctx context.Context, c *call, w board.WorkerID) (board.ID, error) {
	if w.Principal != c.caller.Principal {
		seen, err := c.seen(ctx)
		if err != nil {
			return board.ID{}, err
		}
		if !seen[w] {
			return board.ID{}, board.ErrNotFound
		}
	}
	return c.Stop(ctx, c.actor, w)
}

func pause(ctx context.Context, c *call, in slugIn) (none, error) {
	if err := c.may(in.Slug); err != nil {
		return none{}, err
	}
	return none{}, c.Pause(ctx, c.actor, in.Slug)
}

func resume(ctx context.Context, c *call, in slugIn) (none, error) {
	if err := c.may(in.Slug); err != nil {
		return none{}, err
	}
	return none{}, c.Resume(ctx, c.actor, in.Slug)
}

func setProject(ctx context.Context, c *call, p board.Project) (none, error) {
	if err := c.may(p.Slug); err != nil {
		return none{}, err
	}
	return none{}, c.SetProject(ctx, p)
}
