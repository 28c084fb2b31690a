package tools

import (
	"time"

	"github.com/bossman-dev/bossman/board"
)

// The wire types are what programs find in a result's _meta, under ResultKey. Fields are
// added, never changed or removed.

type wireRefusal struct {
	Error string `json:"error"`
	Text  string `json:"text"`
}

// Refusal returns the code of a refusal. Telemetry and audit read it, and the Subject of
// other results.
func (w wireRefusal) Refusal() string { return w.Error }

type wireTask struct {
	ID          string   `json:"id"`
	Title       string   `json:"title"`
	Description string   `json:"description,omitzero"`
	Acceptance  string   `json:"acceptance,omitzero"`
	Status      string   `json:"status"`
	State       string   `json:"state"` // see board.State
	Priority    string   `json:"priority,omitzero"`
	Skills      []string `json:"skills,omitempty"`
	Areas       []string `json:"areas,omitempty"`
	Evidence    []string `json:"evidence,omitempty"`
	Parent      string   `json:"parent,omitzero"`
	DependsOn   []string `json:"depends_on,omitempty"`
	Draft       bool     `json:"draft,omitzero"`
	Attempt     int      `json:"attempt,omitzero"`
	Failures    int      `json:"failures,omitzero"`
	MaxFailures int      `json:"max_failures,omitzero"`
	Summary     string   `json:"summary,omitzero"`
}

// Subject returns the task that the result is about.
func (w wireTask) Subject() string { return w.ID }

// wireOf converts a task.
func wireOf(t board.Task, d board.Doc) wireTask {
	w := wireTask{
		ID: t.ID.String(), Title: t.Title, Description: d.Description, Acceptance: d.Acceptance,
		Status: string(t.Status), State: string(t.State()), Priority: t.Priority.String(), Skills: t.Skills, Areas: t.Areas,
		Parent: t.Parent.String(), Draft: t.Hold, Attempt: t.Attempt, Failures: t.Failures, MaxFailures: t.MaxFailures,
	}
	for _, k := range t.Wants {
		w.Evidence = append(w.Evidence, string(k))
	}
	if d.Result != nil {
		w.Summary = d.Result.Summary
	}
	return w
}

type wireClaim struct {
	Claim        string `json:"claim"`
	Task         string `json:"task"`
	Worker       string `json:"worker"`
	Attempt      int    `json:"attempt"`
	LeaseSeconds int    `json:"lease_seconds"`
	Branch       string `json:"branch,omitzero"` // the one that the worker is told to work on
}

func wireClaimOf(c board.Claim) wireClaim {
	return wireClaim{
		Claim: c.Handle.String(), Task: c.Task.String(), Worker: c.Worker.Name, Attempt: c.Attempt,
		LeaseSeconds: int(c.Lease / time.Second), Branch: c.Where.Ordered,
	}
}

// wireHandout is the result of get_next_task. Outcome is handed_out, again, held or none.
type wireHandout struct {
	Outcome           string      `json:"outcome"`
	Claim             *wireClaim  `json:"claim,omitzero"`
	Task              *wireTask   `json:"task,omitzero"`
	Held              []wireClaim `json:"held,omitzero"`
	Reason            string      `json:"reason,omitzero"` // for none: done, empty, waiting, skills, paused
	RetryAfterSeconds int         `json:"retry_after_seconds,omitzero"`
}

// Subject returns the task that was handed out, if any.
func (w wireHandout) Subject() string {
	if w.Claim == nil {
		return ""
	}
	return w.Claim.Task
}

// wireDiff says of which attempt a diff is that was shown.
type wireDiff struct {
	Task    string `json:"task"`
	Attempt int    `json:"attempt,omitzero"`
	Files   int    `json:"files,omitzero"`
}

type wireOutcome struct {
	Task        string   `json:"task"`
	Status      string   `json:"status"`
	Freed       []string `json:"freed,omitempty"`
	FollowUps   []string `json:"follow_ups,omitempty"`
	Failures    int      `json:"failures,omitzero"`
	MaxFailures int      `json:"max_failures,omitzero"`
	Question    string   `json:"question,omitzero"`
	Again       bool     `json:"again,omitzero"`
	Late        bool     `json:"late,omitzero"`
}

// Subject returns the task that the report was about.
func (w wireOutcome) Subject() string { return w.Task }

func wireOutcomeOf(o board.Outcome) wireOutcome {
	w := wireOutcome{
		Task: o.Task.String(), Status: string(o.Status), Freed: idStrings(o.Freed), FollowUps: idStrings(o.FollowUps),
		Failures: o.Failures, MaxFailures: o.MaxFailures, Again: o.Again, Late: o.Late,
	}
	if o.Question != 0 {
		w.Question = o.Question.String()
	}
	return w
}

// wireCheck is a report that waits for its check, or that the check did not confirm.
type wireCheck struct {
	Task     string  `json:"task"`
	State    string  `json:"check"`
	Status   string  `json:"status,omitzero"`
	Seconds  float64 `json:"seconds"`
	Question string  `json:"question,omitzero"`
}

// Subject returns the task.
func (w wireCheck) Subject() string { return w.Task }

type wireNotice struct {
	Edited    bool     `json:"edited,omitzero"`
	Answered  []string `json:"answered,omitempty"`
	StoppedBy string   `json:"stopped_by,omitzero"`
}

type wireQuestion struct {
	ID         string   `json:"id"`
	Task       string   `json:"task,omitzero"`
	Text       string   `json:"text"`
	Options    []string `json:"options,omitempty"`
	Default    string   `json:"default,omitzero"`
	Blocking   bool     `json:"blocking,omitzero"`
	HumanOnly  bool     `json:"human_only,omitzero"`
	State      string   `json:"state"`
	Answer     string   `json:"answer,omitzero"`
	AnsweredBy string   `json:"answered_by,omitzero"`
	AnsweredAs string   `json:"answered_as,omitzero"`
	ChatID     string   `json:"chat_id,omitzero"`
	Parked     bool     `json:"parked,omitzero"`
	// AskerLeft: nobody waits for the answer any more.
	AskerLeft bool `json:"asker_left,omitzero"`
}

// Subject returns the task that the question is about, if any.
func (w wireQuestion) Subject() string { return w.Task }

func wireQuestionOf(q board.Question) wireQuestion {
	return wireQuestion{
		ID: q.ID.String(), Task: q.Claim.Task.String(), Text: q.Text, Options: q.Options, Default: q.Default,
		Blocking: q.Blocking, HumanOnly: q.HumanOnly, State: string(q.State), Answer: q.Answer,
		AnsweredBy: q.AnsweredBy, AnsweredAs: string(q.AnsweredAs), ChatID: q.ChatID, AskerLeft: q.AskerLeft(),
	}
}

type wireList[T any] struct {
	Items  []T    `json:"items"`
	Cursor string `json:"cursor,omitzero"`
}

type wirePlan struct {
	Tasks   []wirePlanned `json:"tasks"`
	Longest int           `json:"longest_chain"`
	Draft   bool          `json:"draft"`
	DryRun  bool          `json:"dry_run"`
}

type wirePlanned struct {
	Key   string   `json:"key"`
	ID    string   `json:"id,omitzero"`
	Title string   `json:"title"`
	After []string `json:"after,omitempty"`
	Ready bool     `json:"ready"`
}

type wireWorker struct {
	Name        string `json:"name"`
	Task        string `json:"task,omitzero"`
	Claim       string `json:"claim,omitzero"`
	LastSeenAgo int    `json:"last_seen_seconds_ago"`
	LeaseLeft   int    `json:"lease_seconds_left,omitzero"`
	StoppedBy   string `json:"stopped_by,omitzero"`
}

// idStrings converts ids to strings.
func idStrings(ids []board.ID) []string {
	var out []string
	for _, id := range ids {
		out = append(out, id.String())
	}
	return out
}
