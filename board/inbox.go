package board

import (
	"context"
	"slices"
	"time"
)

const (
	// maxInbox bounds each list of an inbox, and maxProposed the drafts that it looks at.
	maxInbox, maxProposed = 100, 200
	// maxOutlined is for how many tasks of each list the outline is read.
	maxOutlined = 20
	// maxEarlier is how many earlier questions of a conversation an inbox has.
	maxEarlier = 5
)

// An Inbox is what waits for people in a project, oldest first. Each list has at most 100
// entries.
type Inbox struct {
	// Open are the open questions.
	Open []AskedQuestion
	// Review are tasks in review, and Failed those that have failed. The first 20 of each
	// have an outline.
	Review, Failed []OutlinedTask
	// Stuck are tasks that depend on one that has failed or was cancelled.
	Stuck []OutlinedTask
	// Proposed are those of the oldest 200 drafts that workers proposed, or that an agent made drafts of.
	Proposed []OutlinedTask
	// Landing is what keeps queued work from landing until a person does something. One without a
	// task keeps all of it.
	Landing []LandWait
	Now     time.Time
}

// An AskedQuestion is a question with those that its asker asked in the same conversation
// before, oldest first.
type AskedQuestion struct {
	Question Question
	Earlier  []Question
	// Reported is the status of its task, if its worker went on without the answer and has reported: InReview, Landing or Done.
	Reported Status
	// Done is set if that is Done: programs that do not know Reported read it.
	Done bool
}

// An OutlinedTask is a task with its outline.
type OutlinedTask struct {
	Task    Task
	Outline Outline
}

// An Outline is what people are told about a task in a list.
type Outline struct {
	// EndedAt and Reason are those of the last attempt.
	EndedAt time.Time
	Reason  string
	// Summary is that of the result.
	Summary string
	// Reviewer is the name of the worker that reviews it.
	Reviewer string
	// DeadBlocker is a task that it depends on and that has failed or was cancelled.
	DeadBlocker       ID
	DeadBlockerStatus Status
	// Created is the event of its creation; zero if the board's import brought it without one.
	Created Event
	// Drafted is the event with which an agent made a draft of it; zero if none did.
	Drafted Event
}

// Inbox reads what waits for people in a project. What it reads does not depend on how many
// tasks there are.
func (b *Board) Inbox(ctx context.Context, slug string) (in Inbox, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		in, err = readInbox(r, slug)
		return err
	})
	return in, err
}

func readInbox(r Reader, slug string) (in Inbox, err error) {
	if in.Now, err = r.Now(); err != nil {
		return in, err
	}
	if in.Open, err = readAsked(r, slug); err != nil {
		return in, err
	}
	if in.Landing, err = readLandWaits(r, slug); err != nil {
		return in, err
	}
	drafts := []OutlinedTask{}
	lists := []struct {
		into     *[]OutlinedTask
		f        TaskFilter
		outlined int
	}{
		{&in.Review, TaskFilter{Statuses: []Status{InReview}, Limit: maxInbox}, maxOutlined},
		{&in.Failed, TaskFilter{Statuses: []Status{Failed}, Limit: maxInbox}, maxOutlined},
		{&in.Stuck, TaskFilter{Statuses: []Status{Pending}, Stuck: true, Limit: maxInbox}, maxInbox},
		{&drafts, TaskFilter{Statuses: []Status{Pending}, Hold: true, Limit: maxProposed}, maxProposed},
	}
	var ids []ID
	for _, l := range lists {
		l.f.Projects = []string{slug}
		ts, err := r.Tasks(l.f)
		if err != nil {
			return in, err
		}
		for i, t := range ts {
			*l.into = append(*l.into, OutlinedTask{Task: t})
			if i < l.outlined {
				ids = append(ids, t.ID)
			}
		}
	}
	if len(ids) == 0 {
		return in, nil
	}
	outlines, err := r.Outlines(ids)
	if err != nil {
		return in, err
	}
	for _, l := range lists {
		for i := range *l.into {
			t := &(*l.into)[i]
			t.Outline = outlines[t.Task.ID]
		}
	}
	// One that has no dead blocker has just been freed.
	in.Stuck = slices.DeleteFunc(in.Stuck, func(t OutlinedTask) bool { return t.Outline.DeadBlocker.IsZero() })
	looked := 0
	for _, t := range drafts {
		if t.Outline.Created.Detail.Worker == "" && t.Task.Seq > 1 && looked < maxOutlined {
			looked++
			if t.Outline.Drafted, err = drafted(r, t.Task); err != nil {
				return in, err
			}
		}
		if t.Outline.Created.Detail.Worker != "" || t.Outline.Drafted.Kind != "" {
			in.Proposed = append(in.Proposed, t)
		}
	}
	return in, nil
}

// searchedDraft is how many events of a draft are searched for the one that made it one.
const searchedDraft = 20

// drafted returns the event with which an agent made a draft of a task; zero if none did.
func drafted(r Reader, t Task) (e Event, err error) {
	events, err := r.Events(t.ID, max(0, t.Seq-searchedDraft), searchedDraft)
	for _, e := range slices.Backward(events) {
		if e.Kind == EventEdited && slices.Contains(e.Detail.Fields, "draft") {
			if e.Detail.By != ByAgent {
				break
			}
			return e, err
		}
	}
	return Event{}, err
}

// readAsked reads the open questions of a project.
func readAsked(r Reader, slug string) ([]AskedQuestion, error) {
	open, err := r.Questions(QuestionFilter{Projects: []string{slug}, State: QuestionOpen, Limit: maxInbox})
	if err != nil {
		return nil, err
	}
	var asked []AskedQuestion
	var chats []QuestionID
	for _, q := range open {
		var reported Status
		if !q.Claim.IsZero() {
			t, err := r.Task(q.Claim.Task)
			if err != nil {
				return nil, err
			}
			if slices.Contains([]Status{InReview, Landing, Done}, t.Status) {
				reported = t.Status
			}
		}
		asked = append(asked, AskedQuestion{Question: q, Reported: reported, Done: reported == Done})
		if q.ChatID != "" {
			chats = append(chats, q.ID)
		}
	}
	if len(chats) == 0 {
		return asked, nil
	}
	earlier, err := r.Earlier(chats, maxEarlier)
	for i := range asked {
		asked[i].Earlier = earlier[asked[i].Question.ID]
	}
	return asked, err
}
