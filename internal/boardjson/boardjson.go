// Package boardjson has the nouns of the board as --json shows them. Fields are added,
// never changed or removed; docs/commands.md lists them.
package boardjson

import (
	"time"

	"github.com/bossman-dev/bossman/board"
)

type Task struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Status   string `json:"status"`
	State    string `json:"state"` // see board.State
	Priority string `json:"priority"`

	Worker       string     `json:"worker,omitzero"`
	Skills       []string   `json:"skills"`
	Areas        []string   `json:"areas"`
	Evidence     []string   `json:"evidence"`
	Parent       string     `json:"parent,omitzero"`
	Redoes       string     `json:"redoes,omitzero"`
	Draft        bool       `json:"draft,omitzero"`
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

func FromTask(t board.Task) Task {
	out := Task{
		ID: t.ID.String(), Title: t.Title, Status: string(t.Status), State: string(t.State()), Priority: t.Priority.String(),
		Skills: t.Skills, Areas: t.Areas, Parent: t.Parent.String(), Redoes: t.Redoes.String(), Draft: t.Hold,
		Attempt: t.Attempt, Failures: t.Failures, MaxFailures: t.MaxFailures, LeaseSeconds: int(t.Lease / time.Second),
		OpenBlockers: t.OpenBlockers, OpenParts: t.OpenChildren, SpecVersion: t.SpecVersion,
		CreatedBy: t.CreatedBy, CreatedAt: t.CreatedAt.UTC(), NotBefore: Time(t.NotBefore), ReservedFor: t.ReservedFor.Name,
		EndedAt: Time(t.EndedAt),
	}
	for _, k := range t.Wants {
		out.Evidence = append(out.Evidence, string(k))
	}
	return out
}

func FromTasks(ts []board.Task) []Task {
	out := make([]Task, len(ts))
	for i, t := range ts {
		out[i] = FromTask(t)
	}
	return out
}

// Time is a time for JSON, nil for the zero time.
func Time(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

type Claim struct {
	Claim      string    `json:"claim"`
	Task       string    `json:"task"`
	Worker     string    `json:"worker"`
	GrantedAt  time.Time `json:"granted_at"`
	LeaseUntil time.Time `json:"lease_until"`
	// LeaseLeft is negative after the lease has expired. Its reader needs no clock.
	LeaseLeft  int        `json:"lease_left_seconds"`
	LastCallAt *time.Time `json:"last_call_at,omitzero"`
	// Silent is how long its worker has not called, 0 if that is nothing unusual.
	Silent int `json:"silent_seconds,omitzero"`
	// Connection is closed or killed if its worker's process has ended.
	Connection string `json:"connection,omitzero"`
	// Where is where its worker works, as far as it is known.
	Where Where `json:"where,omitzero"`
}

func FromClaim(c board.Claim, now time.Time) Claim {
	connection := ""
	switch {
	case c.Killed:
		connection = "killed"
	case c.Left:
		connection = "closed"
	}
	return Claim{
		LastCallAt: Time(c.LastCall), Silent: int(c.Silent(now) / time.Second), Connection: connection,
		Claim: c.Handle.String(), Task: c.Task.String(), Worker: c.Worker.Name, GrantedAt: c.GrantedAt.UTC(),
		LeaseUntil: c.LeaseUntil.UTC(), LeaseLeft: int(c.LeaseUntil.Sub(now) / time.Second),
		Where: Where(c.Where),
	}
}

type Question struct {
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
	// AskerLeft: nobody waits for the answer any more.
	AskerLeft bool `json:"asker_left,omitzero"`
	// TaskDone: the worker went on without the answer, and its task is done.
	TaskDone bool `json:"task_done,omitzero"`
	// Reported is the state of its task, if the worker went on without the answer and has reported: review, landing or done.
	Reported string `json:"reported,omitzero"`
	// Earlier are the questions before it in the same conversation.
	Earlier []Question `json:"earlier,omitzero"`

	AskedAt    time.Time  `json:"asked_at"`
	NeededBy   *time.Time `json:"needed_by,omitzero"`
	Overdue    bool       `json:"overdue,omitzero"`
	Answer     string     `json:"answer,omitzero"`
	AnsweredBy string     `json:"answered_by,omitzero"`
	// AnsweredAs is person or agent, or import if an imported file says who answered; empty if
	// the default is the answer.
	AnsweredAs string     `json:"answered_as,omitzero"`
	AnsweredAt *time.Time `json:"answered_at,omitzero"`
}

func FromQuestion(q board.Question, now time.Time) Question {
	return Question{
		ID: q.ID.String(), Project: q.Project, Task: q.Claim.Task.String(), Worker: q.Asker.Name, ChatID: q.ChatID, Text: q.Text,
		Options: q.Options, Default: q.Default, Blocking: q.Blocking, HumanOnly: q.HumanOnly, State: string(q.State), AskerLeft: q.AskerLeft(),
		AskedAt: q.AskedAt.UTC(), NeededBy: Time(q.NeededBy), Overdue: Overdue(q, now), Answer: q.Answer,
		AnsweredBy: q.AnsweredBy, AnsweredAs: string(q.AnsweredAs), AnsweredAt: Time(q.AnsweredAt),
	}
}

func FromQuestions(qs []board.Question, now time.Time) []Question {
	out := make([]Question, len(qs))
	for i, q := range qs {
		out[i] = FromQuestion(q, now)
	}
	return out
}

// Overdue reports whether an open question should have been answered.
func Overdue(q board.Question, now time.Time) bool {
	return q.State == board.QuestionOpen && !q.NeededBy.IsZero() && !now.IsZero() && now.After(q.NeededBy)
}

type Project struct {
	Slug         string   `json:"slug"`
	Name         string   `json:"name"`
	Policy       string   `json:"policy"`
	LeaseSeconds int      `json:"lease_seconds,omitzero"`
	Skills       []string `json:"skills"`
	PausedBy     string   `json:"paused_by,omitzero"`
	KeepSeconds  int      `json:"keep_seconds,omitzero"`
	Land         string   `json:"land,omitzero"`
	Archived     bool     `json:"archived,omitzero"`
}

func FromProject(p board.Project) Project {
	return Project{
		Slug: p.Slug, Name: p.Name, Policy: string(p.Policy), LeaseSeconds: int(p.Lease / time.Second), Skills: p.Skills,
		PausedBy: p.PausedBy, KeepSeconds: int(p.Keep / time.Second), Land: p.Land, Archived: p.Archived,
	}
}

// Counts is the number of tasks in each state, and of all.
type Counts map[string]int

func FromCounts(c board.Counts) Counts {
	out := Counts{"total": c.Total()}
	for _, s := range board.States {
		out[string(s)] = c.In(s)
	}
	return out
}

type Event struct {
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
	Prior    string    `json:"prior,omitzero"`
	Why      string    `json:"why,omitzero"`
	// By is person or agent, for answers and verdicts, or import.
	By string `json:"by,omitzero"`
	// Comments are those with which work was rejected.
	Comments []board.Comment `json:"comments,omitzero"`
	// Was is what an edit replaced.
	Was *Was `json:"was,omitzero"`
	// Commit is the commit with which work was landed, and Returned why it was not.
	Commit   string    `json:"commit,omitzero"`
	Returned *Returned `json:"returned,omitzero"`
}

// A Returned says why work was not landed. Tip is its commit, Target that of the target, and the rest is
// the task that it conflicts with.
type Returned struct {
	Kind     board.ReturnKind `json:"kind"`
	Files    []string         `json:"files"`
	Tip      string           `json:"tip,omitzero"`
	Target   string           `json:"target,omitzero"`
	Other    string           `json:"other,omitzero"`
	Title    string           `json:"title,omitzero"`
	Summary  string           `json:"summary,omitzero"`
	OtherTip string           `json:"other_tip,omitzero"`
}

// A Was has what the parts of a task's spec were that an edit changed.
type Was struct {
	Title       string               `json:"title,omitzero"`
	Description string               `json:"description,omitzero"`
	Acceptance  string               `json:"acceptance,omitzero"`
	Evidence    []board.EvidenceKind `json:"evidence,omitzero"`
	MaxFailures int                  `json:"max_failures,omitzero"`
}

func FromEvent(e board.Event) Event {
	out := Event{
		Task: e.Task.String(), Seq: e.Seq, At: e.When().UTC(), Actor: e.Actor, Kind: string(e.Kind), From: string(e.From), To: string(e.To),
		Attempt: e.Detail.Attempt, Worker: e.Detail.Worker, Text: e.Detail.Text, Comments: e.Detail.Comments, Cause: string(e.Detail.Cause), Percent: e.Detail.Percent,
		Fields: e.Detail.Fields, Prior: e.Detail.Prior, Why: e.Detail.Why, By: string(e.Detail.By),
	}
	if w := e.Detail.Was; w != nil {
		out.Was = &Was{Title: w.Title, Description: w.Description, Acceptance: w.Acceptance, Evidence: w.Wants, MaxFailures: w.MaxFailures}
	}
	out.Commit = e.Detail.Commit
	if r := e.Detail.Returned; r != nil {
		out.Returned = &Returned{
			Kind: r.Kind, Files: r.Files, Tip: r.Tip, Target: r.Target, Other: r.Other.String(), Title: r.Title, Summary: r.Summary, OtherTip: r.OtherTip,
		}
	}
	if e.Detail.Question != 0 {
		out.Question = e.Detail.Question.String()
	}
	return out
}

type Where struct {
	Host        string `json:"host,omitzero"`
	Clone       string `json:"clone,omitzero"`
	Dir         string `json:"dir,omitzero"`
	Branch      string `json:"branch,omitzero"`
	Head        string `json:"head,omitzero"`
	Uncommitted int    `json:"uncommitted,omitzero"`
	Named       bool   `json:"named,omitzero"`
	Ordered     string `json:"ordered,omitzero"`
	Worked      bool   `json:"worked,omitzero"`
	Direct      bool   `json:"direct,omitzero"`
	Client      string `json:"client,omitzero"`
}

type Attempt struct {
	Claim       string     `json:"claim"`
	Attempt     int        `json:"attempt"`
	Worker      string     `json:"worker"`
	GrantedAt   time.Time  `json:"granted_at"`
	EndedAt     *time.Time `json:"ended_at,omitzero"`
	Cause       string     `json:"cause,omitzero"`
	Reason      string     `json:"reason,omitzero"`
	DoNotRepeat string     `json:"do_not_repeat,omitzero"`
	Where       Where      `json:"where,omitzero"`
	Run         *Run       `json:"run,omitzero"`
}

func FromAttempt(a board.Attempt) Attempt {
	return Attempt{
		Claim: a.Handle.String(), Attempt: a.Attempt, Worker: a.Worker.Name, GrantedAt: a.GrantedAt.UTC(), EndedAt: Time(a.EndedAt),
		Cause: string(a.Cause), Reason: a.Reason, DoNotRepeat: a.DoNotRepeat, Where: Where(a.Where),
	}
}

type Evidence struct {
	Kind   string `json:"kind"`
	Ref    string `json:"ref,omitzero"`
	Detail string `json:"detail,omitzero"`
	// Observed is false for what the worker claims and nobody has looked at.
	Observed bool `json:"observed"`
}

// An Included is work of another task, up to a commit.
type Included struct {
	Task   string `json:"task"`
	Commit string `json:"commit"`
	// Files are those that are in it, if the commit is not.
	Files []string `json:"files,omitzero"`
}

// A Loose names files that lay uncommitted where the work is before its task was taken: those that were left out, with the number
// of further ones, and those of the work. Of Rest of these some changes were left out. Written are files that were left out because the check has made them.
type Loose struct {
	LeftOut     []string `json:"left_out,omitzero"`
	More        int      `json:"more,omitzero"`
	Mixed       []string `json:"mixed,omitzero"`
	MoreMixed   int      `json:"more_mixed,omitzero"`
	Rest        int      `json:"rest,omitzero"`
	Written     []string `json:"written,omitzero"`
	MoreWritten int      `json:"more_written,omitzero"`
	// Inside are submodules and other repositories with changes that no commit here has.
	Inside []string `json:"inside,omitzero"`
	// Unknown is set if it is not known what lay there before.
	Unknown bool `json:"unknown,omitzero"`
}

type Result struct {
	Summary   string     `json:"summary"`
	Evidence  []Evidence `json:"evidence"`
	Artifacts []string   `json:"artifacts"`
	Branch    string     `json:"branch,omitzero"`
	// Uncommitted is how many files were not committed at the report.
	Uncommitted int    `json:"uncommitted,omitzero"`
	Worker      string `json:"worker,omitzero"`
	// Tip, Tree and Base are the commit of the work, its content, and the commit that it began from.
	// NoChanges is set if it changed nothing.
	Tip       string `json:"tip,omitzero"`
	Tree      string `json:"tree,omitzero"`
	Base      string `json:"base,omitzero"`
	NoChanges bool   `json:"no_changes,omitzero"`
	// Includes is the work of other tasks that is in it and had not landed.
	Includes []Included `json:"includes,omitzero"`
	// Loose is what lay about where the work was.
	Loose Loose `json:"loose,omitzero"`
	// Landed is the commit with which it was landed.
	Landed string `json:"landed,omitzero"`
	// Check is what became of the project's check if it is not among the evidence.
	Check string `json:"check,omitzero"`
	// ObservedBy is the key of the process that saw the observed evidence, and ObservedOn
	// its host.
	ObservedBy string `json:"observed_by,omitzero"`
	ObservedOn string `json:"observed_on,omitzero"`
	// Import is who imported it and from where, if it was reported on another board.
	Import string `json:"import,omitzero"`
}

func FromIncluded(list []board.Included) (out []Included) {
	for _, i := range list {
		out = append(out, Included{i.Task.String(), i.Commit, i.Files})
	}
	return out
}

func FromResult(r *board.Result) *Result {
	if r == nil {
		return nil
	}
	out := &Result{
		Summary: r.Summary, Artifacts: r.Artifacts, Branch: r.Branch, Uncommitted: r.Uncommitted, Worker: r.Worker,
		Check: r.Check, ObservedBy: r.ObservedBy, ObservedOn: r.ObservedOn, Import: r.Import,
		Tip: r.Tip.Commit, Tree: r.Tip.Tree, Base: r.Tip.Base, NoChanges: r.NoChanges, Landed: r.Landed,
		Includes: FromIncluded(r.Includes), Loose: Loose(r.Loose),
	}
	for _, e := range r.Evidence {
		out.Evidence = append(out.Evidence, Evidence{Kind: string(e.Kind), Ref: e.Ref, Detail: e.Detail, Observed: e.Observed})
	}
	return out
}

type Dossier struct {
	Task

	Description string     `json:"description"`
	Acceptance  string     `json:"acceptance,omitzero"`
	Result      *Result    `json:"result,omitzero"`
	Claim       *Claim     `json:"claim,omitzero"`
	Review      *Claim     `json:"review,omitzero"`
	DependsOn   []Task     `json:"depends_on"`
	Dependents  []Task     `json:"dependents"`
	Parts       []Task     `json:"parts"`
	Questions   []Question `json:"questions"`
	Attempts    []Attempt  `json:"attempts"`
	Calls       *Calls     `json:"calls,omitzero"`
	Events      []Event    `json:"events"`
}

// FromDossier returns a dossier, with the runs of its attempts.
func FromDossier(d board.Dossier, runs ...board.Run) Dossier {
	out := Dossier{
		Task: FromTask(d.Task), Description: d.Doc.Description, Acceptance: d.Doc.Acceptance, Result: FromResult(d.Doc.Result),
		DependsOn: FromTasks(d.Blockers), Dependents: FromTasks(d.Dependents), Parts: FromTasks(d.Children),
		Questions: FromQuestions(d.Questions, d.Now), Calls: FromCalls(d.Calls), Events: []Event{},
	}
	if d.Claim != nil {
		out.Claim = new(FromClaim(*d.Claim, d.Now))
		out.Worker = d.Claim.Worker.Name
	}
	if d.Review != nil {
		out.Review = new(FromClaim(*d.Review, d.Now))
	}
	for _, at := range d.Attempts {
		a := FromAttempt(at)
		for _, r := range runs {
			if r.Claim == at.Handle {
				a.Run = new(FromRun(r))
			}
		}
		out.Attempts = append(out.Attempts, a)
	}
	for _, e := range d.Events {
		out.Events = append(out.Events, FromEvent(e))
	}
	return out
}
