package board

import (
	"cmp"
	"slices"
	"time"
)

// An export is a text with one JSON object in each line; its type field says which of
// these structs it is. Readers ignore types and fields that they do not know, and the
// meaning of a field never changes.

// A projectLine is the first line of an export.
type projectLine struct {
	V            int      `json:"v"`
	Type         string   `json:"type"`
	Source       string   `json:"source"`
	Slug         string   `json:"slug"`
	Name         string   `json:"name,omitzero"`
	Policy       Policy   `json:"policy"`
	Accept       string   `json:"accept,omitzero"`
	LeaseSeconds int64    `json:"lease_seconds,omitzero"`
	Skills       []string `json:"skills,omitzero"`
	// LastNo is the highest number of the project's tasks.
	LastNo int64 `json:"last_no"`
	// Archive is set if the file has only some of its tasks, which have left the board. Such a
	// file may be several in a row.
	Archive bool `json:"archive,omitzero"`
}

// A taskLine is a task with its longer texts and its result.
type taskLine struct {
	V            int            `json:"v"`
	Type         string         `json:"type"`
	ID           string         `json:"id"`
	Title        string         `json:"title"`
	Description  string         `json:"description,omitzero"`
	Acceptance   string         `json:"acceptance,omitzero"`
	Priority     string         `json:"priority"`
	Skills       []string       `json:"skills,omitzero"`
	Areas        []string       `json:"areas,omitzero"`
	Evidence     []EvidenceKind `json:"evidence,omitzero"`
	Parent       string         `json:"parent,omitzero"`
	Redoes       string         `json:"redoes,omitzero"`
	Hold         bool           `json:"hold,omitzero"`
	Status       Status         `json:"status"`
	Attempt      int            `json:"attempt,omitzero"`
	Nonce        string         `json:"nonce,omitzero"`
	Failures     int            `json:"failures,omitzero"`
	MaxFailures  int            `json:"max_failures"`
	LeaseSeconds int64          `json:"lease_seconds,omitzero"`
	SpecVersion  int            `json:"spec_version"`
	QueuedAt     time.Time      `json:"queued_at,omitzero"`
	CreatedBy    string         `json:"created_by"`
	CreatedAt    time.Time      `json:"created_at"`
	EndedAt      time.Time      `json:"ended_at,omitzero"`
	Result       *resultLine    `json:"result,omitzero"`
}

// A resultLine is the result in a taskLine, and an evidenceLine a piece of its evidence.
type resultLine struct {
	Summary   string         `json:"summary"`
	Evidence  []evidenceLine `json:"evidence,omitzero"`
	Artifacts []string       `json:"artifacts,omitzero"`
	Branch    string         `json:"branch,omitzero"`
	Worker    string         `json:"worker,omitzero"`

	Uncommitted int `json:"uncommitted,omitzero"`

	Tip       string `json:"tip,omitzero"`
	Tree      string `json:"tree,omitzero"`
	Base      string `json:"base,omitzero"`
	NoChanges bool   `json:"no_changes,omitzero"`
	Landed    string `json:"landed,omitzero"`

	Comments []Comment `json:"comments,omitzero"`

	Check      string `json:"check,omitzero"`
	ObservedBy string `json:"observed_by,omitzero"`
	ObservedOn string `json:"observed_on,omitzero"`
	Import     string `json:"import,omitzero"`
}

type evidenceLine struct {
	Kind     EvidenceKind `json:"kind"`
	Ref      string       `json:"ref,omitzero"`
	Detail   string       `json:"detail,omitzero"`
	Observed bool         `json:"observed,omitzero"`
}

// A linkLine says that a task depends on another one.
type linkLine struct {
	V       int    `json:"v"`
	Type    string `json:"type"`
	Task    string `json:"task"`
	Blocker string `json:"blocker"`
}

// An attemptLine is an attempt at a task that has ended.
type attemptLine struct {
	V           int       `json:"v"`
	Type        string    `json:"type"`
	Claim       string    `json:"claim"`
	Principal   string    `json:"principal,omitzero"`
	Worker      string    `json:"worker,omitzero"`
	GrantedAt   time.Time `json:"granted_at"`
	EndedAt     time.Time `json:"ended_at,omitzero"`
	Cause       Cause     `json:"cause,omitzero"`
	Reason      string    `json:"reason,omitzero"`
	DoNotRepeat string    `json:"do_not_repeat,omitzero"`
	Where       placeLine `json:"where,omitzero"`
	SpecVersion int       `json:"spec_version,omitzero"`
	Created     int       `json:"created,omitzero"`
}

// A questionLine is a question. One without a claim belongs to no task.
type questionLine struct {
	V          int           `json:"v"`
	Type       string        `json:"type"`
	ID         string        `json:"id"`
	Claim      string        `json:"claim,omitzero"`
	Principal  string        `json:"principal,omitzero"`
	Worker     string        `json:"worker,omitzero"`
	ChatID     string        `json:"chat_id,omitzero"`
	Text       string        `json:"text"`
	Options    []string      `json:"options,omitzero"`
	Default    string        `json:"default,omitzero"`
	NeededBy   time.Time     `json:"needed_by,omitzero"`
	Blocking   bool          `json:"blocking,omitzero"`
	HumanOnly  bool          `json:"human_only,omitzero"`
	State      QuestionState `json:"state"`
	Answer     string        `json:"answer,omitzero"`
	AnsweredBy string        `json:"answered_by,omitzero"`
	AnsweredAs ActorKind     `json:"answered_as,omitzero"`
	AskedAt    time.Time     `json:"asked_at"`
	AnsweredAt time.Time     `json:"answered_at,omitzero"`
}

// An eventLine is one event of a task.
type eventLine struct {
	V        int       `json:"v"`
	Type     string    `json:"type"`
	Task     string    `json:"task"`
	Seq      int64     `json:"seq"`
	At       time.Time `json:"at"`
	Actor    string    `json:"actor"`
	Kind     Kind      `json:"kind"`
	From     Status    `json:"from,omitzero"`
	To       Status    `json:"to,omitzero"`
	Attempt  int       `json:"attempt,omitzero"`
	Nonce    string    `json:"nonce,omitzero"`
	Worker   string    `json:"worker,omitzero"`
	Text     string    `json:"text,omitzero"`
	Cause    Cause     `json:"cause,omitzero"`
	Percent  int       `json:"percent,omitzero"`
	Question string    `json:"question,omitzero"`
	Where    placeLine `json:"where,omitzero"`
	Fields   []string  `json:"fields,omitzero"`
	Late     bool      `json:"late,omitzero"`
	SpecNow  int       `json:"spec_now,omitzero"`
	Lease    int       `json:"lease_seconds,omitzero"`
	Run      string    `json:"run,omitzero"`
	Prior    string    `json:"prior,omitzero"`
	Why      string    `json:"why,omitzero"`
	By       ActorKind `json:"by,omitzero"`
	Was      *specLine `json:"was,omitzero"`
	Commit   string    `json:"commit,omitzero"`
	Comments []Comment `json:"comments,omitzero"`

	Returned *returnedLine `json:"returned,omitzero"`

	Erased *erasureLine `json:"erased,omitzero"`
}

// An erasureLine says who erased the content of an eventLine.
type erasureLine struct {
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
}

// A returnedLine says in an eventLine why a task was taken out of the landing queue.
type returnedLine struct {
	Kind     ReturnKind `json:"kind"`
	Files    []string   `json:"files,omitzero"`
	Tip      string     `json:"tip,omitzero"`
	Target   string     `json:"target,omitzero"`
	Other    string     `json:"other,omitzero"`
	Title    string     `json:"title,omitzero"`
	Summary  string     `json:"summary,omitzero"`
	OtherTip string     `json:"other_tip,omitzero"`
}

// A specLine is the former spec in an eventLine.
type specLine struct {
	Title       string         `json:"title,omitzero"`
	Description string         `json:"description,omitzero"`
	Acceptance  string         `json:"acceptance,omitzero"`
	Wants       []EvidenceKind `json:"evidence,omitzero"`
	MaxFailures int            `json:"max_failures,omitzero"`
}

// A placeLine is the place in an eventLine.
type placeLine struct {
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

func newProjectLine(p Project, source string) projectLine {
	policy, accept := p.Policy.Stored()
	return projectLine{
		V: 1, Type: "project", Source: source, Slug: p.Slug, Name: p.Name, Policy: policy, Accept: accept,
		LeaseSeconds: int64(p.Lease / time.Second), Skills: p.Skills,
	}
}

// project returns the project of a line.
func (p projectLine) project() Project {
	return Project{Slug: p.Slug, Name: p.Name, Policy: StoredPolicy(p.Policy, p.Accept), Lease: time.Duration(p.LeaseSeconds) * time.Second, Skills: p.Skills}
}

func newTaskLine(t Task, d Doc) taskLine {
	w := taskLine{
		V: 1, Type: "task", ID: t.ID.String(), Title: t.Title, Description: d.Description, Acceptance: d.Acceptance,
		Priority: t.Priority.String(), Skills: t.Skills, Areas: t.Areas, Evidence: t.Wants, Parent: t.Parent.String(), Redoes: t.Redoes.String(), Hold: t.Hold,
		Status: t.Status, Attempt: t.Attempt, Nonce: t.Nonce, Failures: t.Failures, MaxFailures: t.MaxFailures,
		LeaseSeconds: int64(t.Lease / time.Second), SpecVersion: t.SpecVersion, QueuedAt: utc(t.QueuedAt), CreatedBy: t.CreatedBy,
		CreatedAt: utc(t.CreatedAt), EndedAt: utc(t.EndedAt),
	}
	if r := d.Result; r != nil {
		w.Result = &resultLine{
			Summary: r.Summary, Artifacts: r.Artifacts, Branch: r.Branch, Uncommitted: r.Uncommitted, Worker: r.Worker,
			Check: r.Check, ObservedBy: r.ObservedBy, ObservedOn: r.ObservedOn, Import: r.Import,
			Tip: r.Tip.Commit, Tree: r.Tip.Tree, Base: r.Tip.Base, NoChanges: r.NoChanges, Landed: r.Landed, Comments: r.Comments,
		}
		for _, e := range r.Evidence {
			w.Result.Evidence = append(w.Result.Evidence, evidenceLine(e))
		}
	}
	return w
}

// task returns the task of a line, with the given id.
// No claim comes along, so a task in progress becomes pending; nor does its repository, so that a
// person looks at one that waits for its landing.
func (w taskLine) task(id ID) (Task, Doc, error) {
	priority, err := ParsePriority(w.Priority)
	if err != nil {
		return Task{}, Doc{}, err
	}
	n := NewTask{
		Title: w.Title, Description: w.Description, Acceptance: w.Acceptance, Priority: priority, Skills: w.Skills, Areas: w.Areas,
		Wants: w.Evidence, Lease: time.Duration(w.LeaseSeconds) * time.Second, MaxFailures: w.MaxFailures,
	}
	if err := checkNew(&n); err != nil {
		return Task{}, Doc{}, err
	}
	if !slices.Contains(Statuses, w.Status) {
		return Task{}, Doc{}, invalid("invalid status %.20q", w.Status)
	}
	t := Task{
		ID: id, Title: n.Title, Priority: priority, Skills: n.Skills, Areas: n.Areas, Wants: n.Wants, Hold: w.Hold, Status: w.Status,
		Attempt: max(0, w.Attempt), Nonce: w.Nonce, Failures: max(0, w.Failures), MaxFailures: n.MaxFailures, Lease: n.Lease,
		SpecVersion: max(1, w.SpecVersion), QueuedAt: w.QueuedAt, CreatedBy: w.CreatedBy, CreatedAt: w.CreatedAt, EndedAt: w.EndedAt,
	}
	switch t.Status {
	case InProgress:
		t.Status = Pending
	case Landing:
		t.Status = InReview
	}
	if t.QueuedAt.IsZero() {
		t.QueuedAt = t.CreatedAt
	}
	d := Doc{Description: n.Description, Acceptance: n.Acceptance}
	if r := w.Result; r != nil {
		d.Result = &Result{
			Summary: r.Summary, Artifacts: r.Artifacts, Branch: r.Branch, Uncommitted: r.Uncommitted, Worker: r.Worker,
			Check: r.Check, ObservedBy: r.ObservedBy, ObservedOn: r.ObservedOn, Import: r.Import,
			Tip: Tip{Commit: r.Tip, Tree: r.Tree, Base: r.Base}, NoChanges: r.NoChanges, Landed: r.Landed, Comments: r.Comments,
		}
		if err := cmp.Or(checkTip(d.Result.Tip), checkComments(r.Comments)); err != nil {
			return Task{}, Doc{}, err
		}
		if r.Landed != "" && !ValidObject(r.Landed) {
			return Task{}, Doc{}, invalid("invalid commit %.80q in a result", r.Landed)
		}
		for _, e := range r.Evidence {
			d.Result.Evidence = append(d.Result.Evidence, Evidence(e))
		}
	}
	return t, d, nil
}

func newLinkLine(task, blocker ID) linkLine {
	return linkLine{V: 1, Type: "link", Task: task.String(), Blocker: blocker.String()}
}

func newAttemptLine(a Attempt) attemptLine {
	return attemptLine{
		V: 1, Type: "attempt", Claim: a.Handle.String(), Principal: a.Worker.Principal, Worker: a.Worker.Name, GrantedAt: utc(a.GrantedAt),
		EndedAt: utc(a.EndedAt), Cause: a.Cause, Reason: a.Reason, DoNotRepeat: a.DoNotRepeat, Where: placeLine(a.Where),
		SpecVersion: a.SpecVersion, Created: a.Created,
	}
}

// attempt returns the attempt of a line, at task id.
func (w attemptLine) attempt(h Handle, id ID) Attempt {
	h.Task = id
	return Attempt{
		Handle: h, Worker: WorkerID{Principal: w.Principal, Name: w.Worker}, GrantedAt: w.GrantedAt, EndedAt: w.EndedAt, Cause: w.Cause,
		Reason: w.Reason, DoNotRepeat: w.DoNotRepeat, Where: Where(w.Where), SpecVersion: w.SpecVersion, Created: w.Created,
	}
}

func newQuestionLine(q Question) questionLine {
	w := questionLine{
		V: 1, Type: "question", ID: q.ID.String(), Principal: q.Asker.Principal, Worker: q.Asker.Name, ChatID: q.ChatID, Text: q.Text,
		Options: q.Options, Default: q.Default, NeededBy: utc(q.NeededBy), Blocking: q.Blocking, HumanOnly: q.HumanOnly, State: q.State,
		Answer: q.Answer, AnsweredBy: q.AnsweredBy, AnsweredAs: q.AnsweredAs, AskedAt: utc(q.AskedAt), AnsweredAt: utc(q.AnsweredAt),
	}
	if !q.Claim.IsZero() {
		w.Claim = q.Claim.String()
	}
	return w
}

// question returns the question of a line, in a project. task is the task of its claim.
func (w questionLine) question(slug string, task ID) (Question, error) {
	q := Question{
		Project: slug, Asker: WorkerID{Principal: w.Principal, Name: w.Worker}, ChatID: w.ChatID, Text: w.Text, Options: w.Options,
		Default: w.Default, NeededBy: w.NeededBy, Blocking: w.Blocking, HumanOnly: w.HumanOnly, State: w.State, Answer: w.Answer,
		AnsweredBy: w.AnsweredBy, AnsweredAs: w.AnsweredAs, AskedAt: w.AskedAt, AnsweredAt: w.AnsweredAt,
	}
	if w.Claim == "" {
		return q, nil
	}
	claim, err := ParseHandle(w.Claim)
	q.Claim = claim
	q.Claim.Task = task
	return q, err
}

func newEventLine(e Event) eventLine {
	w := eventLine{
		V: 1, Type: "event", Task: e.Task.String(), Seq: e.Seq, At: utc(e.When()), Actor: e.Actor, Kind: e.Kind, From: e.From, To: e.To,
		Attempt: e.Detail.Attempt, Nonce: e.Detail.Nonce, Worker: e.Detail.Worker, Text: e.Detail.Text, Cause: e.Detail.Cause,
		Percent: e.Detail.Percent, Where: placeLine(e.Detail.Where), Fields: e.Detail.Fields, Late: e.Detail.Late,
		SpecNow: e.Detail.SpecNow, Lease: e.Detail.LeaseSecs, Run: e.Detail.Run, Prior: e.Detail.Prior, Why: e.Detail.Why, By: e.Detail.By, Was: (*specLine)(e.Detail.Was), Erased: (*erasureLine)(e.Detail.Erased),
		Commit: e.Detail.Commit, Comments: e.Detail.Comments,
	}
	if r := e.Detail.Returned; r != nil {
		w.Returned = &returnedLine{
			Kind: r.Kind, Files: r.Files, Tip: r.Tip, Target: r.Target, Other: r.Other.String(), Title: r.Title, Summary: r.Summary, OtherTip: r.OtherTip,
		}
	}
	if e.Detail.Question != 0 {
		w.Question = e.Detail.Question.String()
	}
	return w
}

// event returns the event of a line, as event seq of task id. questions maps the ids of
// questions in the file to those on this board.
func (w eventLine) event(id ID, seq int64, questions map[QuestionID]QuestionID) Event {
	e := Event{
		Task: id, Seq: seq, Actor: w.Actor, Kind: w.Kind, From: w.From, To: w.To,
		Detail: Detail{
			Attempt: w.Attempt, Nonce: w.Nonce, Worker: w.Worker, Text: w.Text, Cause: w.Cause, Percent: w.Percent,
			Where: Where(w.Where), Fields: w.Fields, Late: w.Late, SpecNow: w.SpecNow, LeaseSecs: w.Lease, Run: w.Run, Prior: w.Prior, Why: w.Why, By: w.By, At: w.At,
			Was: (*Spec)(w.Was), Erased: (*Erasure)(w.Erased), Commit: w.Commit, Comments: w.Comments,
		},
	}
	if r := w.Returned; r != nil { // the other task may be another one here
		e.Detail.Returned = &Returned{Kind: r.Kind, Files: r.Files, Tip: r.Tip, Target: r.Target, Title: r.Title, Summary: r.Summary, OtherTip: r.OtherTip}
	}
	if old, err := ParseQuestionID(w.Question); err == nil {
		e.Detail.Question = questions[old]
	}
	return e
}

// utc returns t in UTC, and the zero time as it is.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}
