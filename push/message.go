package push

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/permission"
	"github.com/bossman-dev/bossman/internal/visible"
)

const (
	// maxBody is how much text a message has, in bytes, and maxLabel how much a button.
	maxBody, maxLabel = 1000, 60
	// maxText is how much of a text a webhook gets, in bytes.
	maxText = 16 << 10
)

// A message is what a person's device shows.
type message struct {
	Title  string `json:"title"`
	Body   string `json:"body"`
	URL    string `json:"url"`
	Tag    string `json:"tag"` // a later message with the same one replaces it
	Urgent bool   `json:"-"`
	// Actions answer with one tap.
	Actions []action `json:"actions,omitzero"`
	// until is when it is no longer of use.
	until time.Time
}

type action struct {
	Label string `json:"label"`
	URL   string `json:"url"`
}

func (m *message) encode() ([]byte, error) { return json.Marshal(m) }

// messageOf builds the message of a delivery to a person.
func (s *Sender) messageOf(ctx context.Context, t *Target, d *Delivery, now time.Time) (*message, error) {
	if d.Type == asked {
		return s.questionMessage(ctx, t, d, now)
	}
	m := &message{Tag: d.Task.String(), URL: s.o.URL + "/task/" + d.Task.String(), Body: d.Task.String(), until: now.Add(linkLife)}
	word := strings.ReplaceAll(strings.TrimPrefix(d.Type, "task."), "_", " ")
	switch d.Type {
	case "task." + string(board.EventReview):
		word, m.URL = "Review", s.o.URL+"/review/"+d.Task.String()
	case "task." + string(board.EventFailed):
		word = "Failed"
	}
	m.Title = word + " in " + d.Project
	if !t.Text {
		return m, nil
	}
	dossier, err := s.o.Board.Get(ctx, d.Task, 0)
	if err != nil {
		return nil, err
	}
	m.Body = d.Task.String() + ": " + visible.Cut(visible.Line(dossier.Task.Title), maxBody)
	return m, nil
}

// questionMessage builds the message of a question. If the person sees all of it there, and
// it is no risky permission, each option is a button.
func (s *Sender) questionMessage(ctx context.Context, t *Target, d *Delivery, now time.Time) (*message, error) {
	q, err := s.o.Board.Question(ctx, d.Question)
	if err != nil {
		return nil, err
	}
	if q.CheckOpen() != nil || q.Project != d.Project {
		return nil, errMoot
	}
	m := &message{
		Title: "Question in " + q.Project, Body: q.ID.String(), URL: s.o.URL + "/inbox/" + q.ID.String(), Tag: q.ID.String(), Urgent: true,
		until: now.Add(linkLife),
	}
	if !q.NeededBy.IsZero() && q.NeededBy.Before(m.until) {
		m.until = q.NeededBy
	}
	if task := q.Claim.Task; !task.IsZero() {
		m.Body += " about " + task.String()
	}
	p, isPermission := permission.In(&q)
	if isPermission {
		m.Title = "Permission in " + q.Project
	}
	if !t.Text {
		return m, nil
	}
	text := visible.Text(q.Text)
	m.Body = visible.Cut(text, maxBody)
	if m.Body != text || isPermission && p.Risky || !m.until.After(now) {
		return m, nil
	}
	m.Actions, err = s.actions(ctx, t, &q, isPermission, m.until)
	return m, err
}

// actions returns the buttons of a question, or none if they would not show all options.
func (s *Sender) actions(ctx context.Context, t *Target, q *board.Question, isPermission bool, until time.Time) (list []action, err error) {
	if len(q.Options) > maxActions || slices.ContainsFunc(q.Options, func(o string) bool { return visible.Line(o) != o || len(o) > maxLabel }) {
		return nil, nil
	}
	order := make([]int, len(q.Options))
	for i := range order {
		order[i] = i
	}
	if isPermission { // yes and no first: many browsers show two
		slices.SortStableFunc(order, func(a, b int) int { return toInt(q.Options[b] == "no") - toInt(q.Options[a] == "no") })
		slices.SortStableFunc(order, func(a, b int) int { return toInt(q.Options[b] == "yes") - toInt(q.Options[a] == "yes") })
	}
	for _, i := range order {
		link, err := s.links.Sign(ctx, Tap{Key: t.Key, Question: q.ID, Version: versionOf(q), Option: i, Expires: until})
		if err != nil {
			return nil, err
		}
		list = append(list, action{q.Options[i], s.o.URL + TapPath + link})
	}
	return list, nil
}

func toInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// payloadOf builds the body of a webhook.
func (s *Sender) payloadOf(ctx context.Context, t *Target, d *Delivery) (payload, error) {
	p := payload{Type: d.Type, Timestamp: d.At.UTC(), Data: payloadData{Project: d.Project, Seq: d.Seq, Attempt: d.Attempt, From: string(d.From), To: string(d.To)}}
	if !d.Task.IsZero() {
		p.Data.Task, p.Data.URL = d.Task.String(), s.o.URL+"/task/"+d.Task.String()
	}
	if d.Question != 0 {
		p.Data.Question, p.Data.URL = d.Question.String(), s.o.URL+"/inbox/"+d.Question.String()
	}
	if !t.Text {
		return p, nil
	}
	if !d.Task.IsZero() {
		dossier, err := s.o.Board.Get(ctx, d.Task, 0)
		if err != nil {
			return p, err
		}
		p.Data.Title = visible.Cut(dossier.Task.Title, maxText)
		events, err := s.o.Board.Events(ctx, d.Task, d.Seq-1, 1)
		if err != nil {
			return p, err
		}
		if len(events) == 1 && events[0].Seq == d.Seq {
			p.Data.Text = visible.Cut(events[0].Detail.Text, maxText)
		}
	}
	if d.Question != 0 {
		q, err := s.o.Board.Question(ctx, d.Question)
		if err != nil {
			return p, err
		}
		if p.Data.Options = q.Options; d.Type == asked {
			p.Data.Text = visible.Cut(q.Text, maxText)
		} else {
			p.Data.Text = visible.Cut(q.Answer, maxText)
		}
	}
	return p, nil
}
