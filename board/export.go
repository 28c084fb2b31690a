package board

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
)

// exportPage is how much is read at once: no reader stays long.
const exportPage = 200

// A wireProject and the others are lines of an export. Readers ignore what they do
// not know; the meaning of a field never changes.
type wireProject struct {
	V            int      `json:"v"`
	Type         string   `json:"type"`
	Source       string   `json:"source"`
	Slug         string   `json:"slug"`
	Name         string   `json:"name,omitzero"`
	Policy       Policy   `json:"policy"`
	LeaseSeconds int64    `json:"lease_seconds,omitzero"`
	Skills       []string `json:"skills,omitzero"`
	// LastNo is the highest number of a task.
	LastNo int64 `json:"last_no"`
}

type wireTask struct {
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
	Result       *wireResult    `json:"result,omitzero"`
}

type wireResult struct {
	Summary   string         `json:"summary"`
	Evidence  []wireEvidence `json:"evidence,omitzero"`
	Artifacts []string       `json:"artifacts,omitzero"`
	Branch    string         `json:"branch,omitzero"`
	Worker    string         `json:"worker,omitzero"`
}

type wireEvidence struct {
	Kind   EvidenceKind `json:"kind"`
	Ref    string       `json:"ref,omitzero"`
	Detail string       `json:"detail,omitzero"`
}

// A wireLink says that a task depends on another.
type wireLink struct {
	V       int    `json:"v"`
	Type    string `json:"type"`
	Task    string `json:"task"`
	Blocker string `json:"blocker"`
}

type wireQuestion struct {
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
	AskedAt    time.Time     `json:"asked_at"`
	AnsweredAt time.Time     `json:"answered_at,omitzero"`
}

type wireEvent struct {
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
	Where    wireWhere `json:"where,omitzero"`
	Fields   []string  `json:"fields,omitzero"`
	Late     bool      `json:"late,omitzero"`
	SpecNow  int       `json:"spec_now,omitzero"`
	Lease    int       `json:"lease_seconds,omitzero"`
}

type wireWhere struct {
	Host        string `json:"host,omitzero"`
	Dir         string `json:"dir,omitzero"`
	Branch      string `json:"branch,omitzero"`
	Head        string `json:"head,omitzero"`
	Uncommitted int    `json:"uncommitted,omitzero"`
}

// Export writes a project as lines of JSON: the project, its tasks, their links,
// the questions and the events. It reads page by page, so what changes meanwhile may
// be in it or not.
func (b *Board) Export(ctx context.Context, slug string, emit func(line []byte) error) error {
	out := func(v any) error {
		line, err := json.Marshal(v, json.Deterministic(true))
		if err != nil {
			return err
		}
		return emit(line)
	}
	var ids []ID
	var links []wireLink
	var p Project
	source := ""
	err := b.store.Read(ctx, func(r Reader) (err error) {
		if p, err = b.project(r, slug); err != nil {
			return err
		}
		source, err = sourceOf(r, slug)
		return err
	})
	if err != nil {
		return err
	}
	last, err := b.lastNo(ctx, slug)
	if err != nil {
		return err
	}
	if err := out(wireProject{
		V: 1, Type: "project", Source: source, Slug: p.Slug, Name: p.Name, Policy: p.Policy, LeaseSeconds: int64(p.Lease / time.Second),
		Skills: p.Skills, LastNo: last,
	}); err != nil {
		return err
	}
	f := TaskFilter{Projects: []string{slug}, Limit: exportPage}
	for more := true; more; {
		var tasks []wireTask
		var here []wireLink
		err := b.store.Read(ctx, func(r Reader) error {
			tasks, here = nil, nil
			page, err := r.Tasks(f)
			if err != nil {
				return err
			}
			more = len(page) == f.Limit
			for _, t := range page {
				d, err := r.Dossier(t.ID, 0)
				if err != nil {
					return err
				}
				tasks = append(tasks, toWireTask(d.Task, d.Doc))
				for _, blocker := range d.Blockers {
					here = append(here, wireLink{V: 1, Type: "link", Task: t.ID.String(), Blocker: blocker.ID.String()})
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		links = append(links, here...)
		for _, t := range tasks {
			if err := out(t); err != nil {
				return err
			}
			id, err := ParseID(t.ID)
			if err != nil {
				return err
			}
			ids = append(ids, id)
			f.After = id
		}
	}
	for _, l := range links {
		if err := out(l); err != nil {
			return err
		}
	}
	if err := b.exportQuestions(ctx, slug, out); err != nil {
		return err
	}
	for _, id := range ids {
		if err := b.exportEvents(ctx, id, out); err != nil {
			return err
		}
	}
	return nil
}

// sourceOf names the board that a project's tasks were made on. It is the same
// whenever it is asked, and differs for other boards: the first task's birth.
func sourceOf(r Reader, slug string) (string, error) {
	first, err := r.Tasks(TaskFilter{Projects: []string{slug}, Limit: 1})
	if err != nil || len(first) == 0 {
		return slug, err
	}
	return fmt.Sprintf("%s-%s", slug, strconv.FormatInt(first[0].CreatedAt.UnixMicro(), 36)), nil
}

// lastNo is the highest number of a task.
func (b *Board) lastNo(ctx context.Context, slug string) (no int64, err error) {
	f := TaskFilter{Projects: []string{slug}, Limit: 1000}
	for {
		page, err := b.List(ctx, f)
		if err != nil {
			return no, err
		}
		for _, t := range page {
			no = max(no, t.ID.No)
			f.After = t.ID
		}
		if len(page) < f.Limit {
			return no, nil
		}
	}
}

func (b *Board) exportQuestions(ctx context.Context, slug string, out func(any) error) error {
	f := QuestionFilter{Projects: []string{slug}, Limit: exportPage}
	for {
		page, err := b.Questions(ctx, f)
		if err != nil {
			return err
		}
		for _, q := range page {
			if err := out(toWireQuestion(q)); err != nil {
				return err
			}
			f.After = q.ID
		}
		if len(page) < f.Limit {
			return nil
		}
	}
}

func (b *Board) exportEvents(ctx context.Context, id ID, out func(any) error) error {
	after := int64(0)
	for {
		page, err := b.Events(ctx, id, after, exportPage)
		if err != nil {
			return err
		}
		for _, e := range page {
			if err := out(toWireEvent(e)); err != nil {
				return err
			}
			after = e.Seq
		}
		if len(page) < exportPage {
			return nil
		}
	}
}

func toWireTask(t Task, d Doc) wireTask {
	w := wireTask{
		V: 1, Type: "task", ID: t.ID.String(), Title: t.Title, Description: d.Description, Acceptance: d.Acceptance,
		Priority: t.Priority.String(), Skills: t.Skills, Areas: t.Areas, Evidence: t.Wants, Parent: t.Parent.String(), Hold: t.Hold,
		Status: t.Status, Attempt: t.Attempt, Nonce: t.Nonce, Failures: t.Failures, MaxFailures: t.MaxFailures,
		LeaseSeconds: int64(t.Lease / time.Second), SpecVersion: t.SpecVersion, QueuedAt: utc(t.QueuedAt), CreatedBy: t.CreatedBy,
		CreatedAt: utc(t.CreatedAt), EndedAt: utc(t.EndedAt),
	}
	if r := d.Result; r != nil {
		w.Result = &wireResult{Summary: r.Summary, Artifacts: r.Artifacts, Branch: r.Branch, Worker: r.Worker}
		for _, e := range r.Evidence {
			w.Result.Evidence = append(w.Result.Evidence, wireEvidence(e))
		}
	}
	return w
}

func toWireQuestion(q Question) wireQuestion {
	w := wireQuestion{
		V: 1, Type: "question", ID: q.ID.String(), Principal: q.Asker.Principal, Worker: q.Asker.Name, ChatID: q.ChatID, Text: q.Text,
		Options: q.Options, Default: q.Default, NeededBy: utc(q.NeededBy), Blocking: q.Blocking, HumanOnly: q.HumanOnly, State: q.State,
		Answer: q.Answer, AnsweredBy: q.AnsweredBy, AskedAt: utc(q.AskedAt), AnsweredAt: utc(q.AnsweredAt),
	}
	if !q.Claim.IsZero() {
		w.Claim = q.Claim.String()
	}
	return w
}

func toWireEvent(e Event) wireEvent {
	w := wireEvent{
		V: 1, Type: "event", Task: e.Task.String(), Seq: e.Seq, At: utc(e.When()), Actor: e.Actor, Kind: e.Kind, From: e.From, To: e.To,
		Attempt: e.Detail.Attempt, Nonce: e.Detail.Nonce, Worker: e.Detail.Worker, Text: e.Detail.Text, Cause: e.Detail.Cause,
		Percent: e.Detail.Percent, Where: wireWhere(e.Detail.Where), Fields: e.Detail.Fields, Late: e.Detail.Late,
		SpecNow: e.Detail.SpecNow, Lease: e.Detail.LeaseSecs,
	}
	if e.Detail.Question != 0 {
		w.Question = e.Detail.Question.String()
	}
	return w
}

// utc keeps the zero time as it is.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}
