package boardjson

import (
	"fmt"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// An InboxEntry is one thing that waits for a person.
type InboxEntry struct {
	Kind    string    `json:"kind"` // question, review, landing, failed, stuck, check, follow_up, draft
	ID      string    `json:"id"`
	Title   string    `json:"title"`
	Task    string    `json:"task,omitzero"`
	Detail  string    `json:"detail,omitzero"`
	Since   time.Time `json:"since,omitzero"`
	Command string    `json:"command"`
	Cancel  string    `json:"cancel,omitzero"` // the command that declines it
	Asked   *Question `json:"question,omitzero"`
	// By and As are who wrote the title of a landing entry, if a lander did.
	By string `json:"by,omitzero"`
	As string `json:"as,omitzero"`

	Said string `json:"-"` // what a worker said, which Detail ends with
	Told bool   `json:"-"` // a lander wrote the title
}

// FromInbox returns what waits for a person, most urgent first.
func FromInbox(in board.Inbox) []InboxEntry {
	var out []InboxEntry
	for _, blocking := range []bool{true, false} {
		for _, q := range in.Open {
			if q.Question.Blocking == blocking {
				out = append(out, fromAsked(q, in.Now))
			}
		}
	}
	for _, t := range in.Review {
		e := taskEntry("review", t)
		e.Detail = "reported done"
		if r := t.Outline.Reviewer; r != "" {
			e.Detail = r + " reviews it; " + e.Detail
		}
		e.Since = t.Outline.EndedAt.UTC()
		e.say(": ", t.Outline.Summary)
		e.Command = fmt.Sprintf("bossman task review %v", t.Task.ID)
		out = append(out, e)
	}
	for _, w := range in.Landing {
		e := InboxEntry{Kind: "landing", ID: "landing", Title: w.Why, Command: "bossman land status", By: w.Author.By, As: string(w.Author.As), Told: true}
		if w.Idle {
			e.Command, e.Told = "bossman land", false
		}
		if !w.Task.IsZero() {
			e.ID, e.Task = w.Task.String(), w.Task.String()
		}
		out = append(out, e)
	}
	for _, t := range in.Failed {
		e := taskEntry("failed", t)
		e.Detail = fmt.Sprintf("%d of %d attempts failed", t.Task.Failures, t.Task.MaxFailures)
		e.Since = t.Outline.EndedAt.UTC()
		e.say(", the last: ", t.Outline.Reason)
		out = append(out, e)
	}
	for _, t := range in.Stuck {
		e := taskEntry("stuck", t)
		e.Detail = fmt.Sprintf("depends on %v, which is %s", t.Outline.DeadBlocker, t.Outline.DeadBlockerStatus)
		out = append(out, e)
	}
	for _, t := range in.Proposed {
		e := taskEntry("follow_up", t)
		e.Since = t.Outline.Created.When().UTC()
		e.say("", t.Outline.Created.Detail.Prior)
		if made := t.Outline.Drafted; made.Kind != "" {
			e.Kind, e.Since, e.Detail = "draft", made.When().UTC(), "an agent has made a draft of it: it is not handed out"
		}
		e.Command, e.Cancel = fmt.Sprintf("bossman task start %v", t.Task.ID), fmt.Sprintf("bossman task cancel %v", t.Task.ID)
		out = append(out, e)
	}
	return out
}

func fromAsked(a board.AskedQuestion, now time.Time) InboxEntry {
	q := a.Question
	asked := FromQuestion(q, now)
	asked.Earlier, asked.TaskDone, asked.Reported = FromQuestions(a.Earlier, time.Time{}), a.Reported == board.Done, string(a.Reported)
	e := InboxEntry{
		Kind: "question", ID: q.ID.String(), Title: q.Text, Task: q.Claim.Task.String(), Since: q.AskedAt.UTC(),
		Command: "bossman answer " + q.ID.String(), Asked: &asked,
	}
	switch {
	case a.Reported != "" && q.Default != "":
		e.Detail = "default: " + q.Default
	case a.Reported != "":
	case Overdue(q, now):
		e.Detail = "overdue"
	case q.Blocking:
		e.Detail = "blocks work"
	case q.Default != "":
		e.Detail = "default: " + q.Default
	}
	return e
}

func taskEntry(kind string, t board.OutlinedTask) InboxEntry {
	id := t.Task.ID.String()
	return InboxEntry{Kind: kind, ID: id, Title: t.Task.Title, Task: id, Command: "bossman task why " + id}
}

// say adds what a worker said, if it said anything.
func (e *InboxEntry) say(before, text string) {
	if text != "" {
		e.Detail += before + text
		e.Said = text
	}
}
