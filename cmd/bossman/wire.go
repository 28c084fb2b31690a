package main

import (
	"time"

	"github.com/bossman-dev/bossman/board"
)

// What --json shows. Fields are added, never changed or taken away;
// docs/commands.md lists them.

type taskJSON struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Status   string `json:"status"`
	State    string `json:"state"` // the status, with pending told apart
	Priority string `json:"priority"`

	Worker       string     `json:"worker,omitzero"`
	Skills       []string   `json:"skills"`
	Areas        []string   `json:"areas"`
	Evidence     []string   `json:"evidence"`
	Parent       string     `json:"parent,omitzero"`
	Hold         bool       `json:"hold,omitzero"`
	Attempt      int        `json:"attempt"`
	Failures     int        `json:"failures"`
	MaxFailures  int        `json:"max_failures"`
	LeaseSeconds int        `json:"lease_seconds,omitzero"`
	OpenBlockers int        `json:"open_blockers,omitzero"`
	OpenParts    int        `json:"open_parts,omitzero"`
	SpecVersion  int        `json:"spec_version"`
	CreatedBy    string     `json:"created_by"`
	CreatedAt    time.Time  `json:"created_at"`
	NotBefore    *time.Time `json:"not_before,omitzero"`
	ReservedFor  string     `json:"reserved_for,omitzero"`
	EndedAt      *time.Time `json:"ended_at,omitzero"`
}

func toTask(t board.Task) taskJSON {
	out := taskJSON{
		ID: t.ID.String(), Title: t.Title, Status: string(t.Status), State: state(t), Priority: t.Priority.String(),
		Skills: t.Skills, Areas: t.Areas, Parent: t.Parent.String(), Hold: t.Hold,
		Attempt: t.Attempt, Failures: t.Failures, MaxFailures: t.MaxFailures, LeaseSeconds: int(t.Lease / time.Second),
		OpenBlockers: t.OpenBlockers, OpenParts: t.OpenChildren, SpecVersion: t.SpecVersion,
		CreatedBy: t.CreatedBy, CreatedAt: t.CreatedAt.UTC(), NotBefore: moment(t.NotBefore), ReservedFor: t.ReservedFor.Name,
		EndedAt: moment(t.EndedAt),
	}
	for _, k := range t.Wants {
		out.Evidence = append(out.Evidence, string(k))
	}
	return out
}

func toTasks(ts []board.Task) []taskJSON {
	out := make([]taskJSON, len(ts))
	for i, t := range ts {
		out[i] = toTask(t)
	}
	return out
}

// state is a task's status as people see it: what is pending is ready, or why not.
func state(t board.Task) string {
	switch {
	case t.Status != board.Pending:
		return string(t.Status)
	case t.Hold:
		return "held"
	case t.OpenBlockers > 0, t.OpenChildren > 0:
		return "blocked"
	case !t.ReservedFor.IsZero():
		return "reserved"
	case !t.NotBefore.IsZero():
		return "resting"
	}
	return "ready"
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

type claimJSON struct {
	Claim      string    `json:"claim"`
	Task       string    `json:"task"`
	Worker     string    `json:"worker"`
	GrantedAt  time.Time `json:"granted_at"`
	LeaseUntil time.Time `json:"lease_until"`
	// LeaseLeft does not need a clock; it is negative when the lease ran out.
	LeaseLeft int `json:"lease_left_seconds"`
}

func toClaim(c board.Claim, now time.Time) claimJSON {
	return claimJSON{
		Claim: c.Handle.String(), Task: c.Task.String(), Worker: c.Worker.Name, GrantedAt: c.GrantedAt.UTC(),
		LeaseUntil: c.LeaseUntil.UTC(), LeaseLeft: int(c.LeaseUntil.Sub(now) / time.Second),
	}
}

type questionJSON struct {
	ID        string   `json:"id"`
	Project   string   `json:"project"`
	Task      string   `json:"task,omitzero"`
	Worker    string   `json:"worker,omitzero"`
	ChatID    string   `json:"chat_id,omitzero"`
	Text      string   `json:"text"`
	Options   []string `json:"options"`
	Default   string   `json:"default,omitzero"`
	Blocking  bool     `json:"blocking"`
	HumanOnly bool     `json:"human_only"`
	State     string   `json:"state"`

	AskedAt    time.Time  `json:"asked_at"`
	NeededBy   *time.Time `json:"needed_by,omitzero"`
	Overdue    bool       `json:"overdue,omitzero"`
	Answer     string     `json:"answer,omitzero"`
	AnsweredBy string     `json:"answered_by,omitzero"`
	AnsweredAt *time.Time `json:"answered_at,omitzero"`
}

func toQuestion(q board.Question, now time.Time) questionJSON {
	return questionJSON{
		ID: q.ID.String(), Project: q.Project, Task: q.Claim.Task.String(), Worker: q.Asker.Name, ChatID: q.ChatID, Text: q.Text,
		Options: q.Options, Default: q.Default, Blocking: q.Blocking, HumanOnly: q.HumanOnly, State: string(q.State),
		AskedAt: q.AskedAt.UTC(), NeededBy: moment(q.NeededBy), Overdue: overdue(q, now), Answer: q.Answer,
		AnsweredBy: q.AnsweredBy, AnsweredAt: moment(q.AnsweredAt),
	}
}

func toQuestions(qs []board.Question, now time.Time) []questionJSON {
	out := make([]questionJSON, len(qs))
	for i, q := range qs {
		out[i] = toQuestion(q, now)
	}
	return out
}

func overdue(q board.Question, now time.Time) bool {
	return q.State == board.QuestionOpen && !q.NeededBy.IsZero() && !now.IsZero() && now.After(q.NeededBy)
}

type projectJSON struct {
	Slug         string   `json:"slug"`
	Name         string   `json:"name"`
	Policy       string   `json:"policy"`
	LeaseSeconds int      `json:"lease_seconds,omitzero"`
	Skills       []string `json:"skills"`
	PausedBy     string   `json:"paused_by,omitzero"`
	Archived     bool     `json:"archived,omitzero"`
}

func toProject(p board.Project) projectJSON {
	return projectJSON{
		Slug: p.Slug, Name: p.Name, Policy: string(p.Policy), LeaseSeconds: int(p.Lease / time.Second), Skills: p.Skills,
		PausedBy: p.PausedBy, Archived: p.Archived,
	}
}

type countsJSON struct {
	Total      int `json:"total"`
	Ready      int `json:"ready"`
	Blocked    int `json:"blocked"`
	Held       int `json:"held"`
	Later      int `json:"later"`
	InProgress int `json:"in_progress"`
	Waiting    int `json:"waiting"`
	Review     int `json:"review"`
	Done       int `json:"done"`
	Failed     int `json:"failed"`
	Cancelled  int `json:"cancelled"`
}

func toCounts(c board.Counts) countsJSON {
	return countsJSON{
		Total: c.Total(), Ready: c.Ready, Blocked: c.Blocked, Held: c.Held, Later: c.Later,
		InProgress: c.Status[board.InProgress], Waiting: c.Status[board.Waiting], Review: c.Status[board.InReview],
		Done: c.Status[board.Done], Failed: c.Status[board.Failed], Cancelled: c.Status[board.Cancelled],
	}
}

type eventJSON struct {
	Task     string    `json:"task"`
	Seq      int64     `json:"seq"`
	At       time.Time `json:"at"`
	Actor    string    `json:"actor"`
	Kind     string    `json:"kind"`
	From     string    `json:"from,omitzero"`
	To       string    `json:"to,omitzero"`
	Attempt  int       `json:"attempt,omitzero"`
	Worker   string    `json:"worker,omitzero"`
	Text     string    `json:"text,omitzero"`
	Cause    string    `json:"cause,omitzero"`
	Percent  int       `json:"percent,omitzero"`
	Question string    `json:"question,omitzero"`
	Fields   []string  `json:"fields"`
}

func toEvent(e board.Event) eventJSON {
	out := eventJSON{
		Task: e.Task.String(), Seq: e.Seq, At: e.When().UTC(), Actor: e.Actor, Kind: string(e.Kind), From: string(e.From), To: string(e.To),
		Attempt: e.Detail.Attempt, Worker: e.Detail.Worker, Text: e.Detail.Text, Cause: string(e.Detail.Cause), Percent: e.Detail.Percent,
		Fields: e.Detail.Fields,
	}
	if e.Detail.Question != 0 {
		out.Question = e.Detail.Question.String()
	}
	return out
}

type whereJSON struct {
	Host        string `json:"host,omitzero"`
	Dir         string `json:"dir,omitzero"`
	Branch      string `json:"branch,omitzero"`
	Head        string `json:"head,omitzero"`
	Uncommitted int    `json:"uncommitted,omitzero"`
}

type attemptJSON struct {
	Claim       string     `json:"claim"`
	Attempt     int        `json:"attempt"`
	Worker      string     `json:"worker"`
	GrantedAt   time.Time  `json:"granted_at"`
	EndedAt     *time.Time `json:"ended_at,omitzero"`
	Cause       string     `json:"cause,omitzero"`
	Reason      string     `json:"reason,omitzero"`
	DoNotRepeat string     `json:"do_not_repeat,omitzero"`
	Where       whereJSON  `json:"where,omitzero"`
}

func toAttempt(a board.Attempt) attemptJSON {
	return attemptJSON{
		Claim: a.Handle.String(), Attempt: a.Attempt, Worker: a.Worker.Name, GrantedAt: a.GrantedAt.UTC(), EndedAt: moment(a.EndedAt),
		Cause: string(a.Cause), Reason: a.Reason, DoNotRepeat: a.DoNotRepeat, Where: whereJSON(a.Where),
	}
}

type evidenceJSON struct {
	Kind   string `json:"kind"`
	Ref    string `json:"ref,omitzero"`
	Detail string `json:"detail,omitzero"`
}

type resultJSON struct {
	Summary   string         `json:"summary"`
	Evidence  []evidenceJSON `json:"evidence"`
	Artifacts []string       `json:"artifacts"`
	Branch    string         `json:"branch,omitzero"`
	Worker    string         `json:"worker,omitzero"`
}

func toResult(r *board.Result) *resultJSON {
	if r == nil {
		return nil
	}
	out := &resultJSON{Summary: r.Summary, Artifacts: r.Artifacts, Branch: r.Branch, Worker: r.Worker}
	for _, e := range r.Evidence {
		out.Evidence = append(out.Evidence, evidenceJSON{Kind: string(e.Kind), Ref: e.Ref, Detail: e.Detail})
	}
	return out
}

type dossierJSON struct {
	taskJSON

	Description string         `json:"description"`
	Acceptance  string         `json:"acceptance,omitzero"`
	Result      *resultJSON    `json:"result,omitzero"`
	Claim       *claimJSON     `json:"claim,omitzero"`
	DependsOn   []taskJSON     `json:"depends_on"`
	Dependents  []taskJSON     `json:"dependents"`
	Parts       []taskJSON     `json:"parts"`
	Questions   []questionJSON `json:"questions"`
	Attempts    []attemptJSON  `json:"attempts"`
	Events      []eventJSON    `json:"events"`
}

func toDossier(d board.Dossier) dossierJSON {
	out := dossierJSON{
		taskJSON: toTask(d.Task), Description: d.Doc.Description, Acceptance: d.Doc.Acceptance, Result: toResult(d.Doc.Result),
		DependsOn: toTasks(d.Blockers), Dependents: toTasks(d.Dependents), Parts: toTasks(d.Children),
		Questions: toQuestions(d.Questions, d.Now), Events: []eventJSON{},
	}
	if d.Claim != nil {
		out.Claim = new(toClaim(*d.Claim, d.Now))
		out.Worker = d.Claim.Worker.Name
	}
	for _, at := range d.Attempts {
		out.Attempts = append(out.Attempts, toAttempt(at))
	}
	for _, e := range d.Events {
		out.Events = append(out.Events, toEvent(e))
	}
	return out
}
