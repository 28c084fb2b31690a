package web

import (
	"fmt"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// An eventView is an entry of a task's history.
type eventView struct {
	Seq     int64
	At      moment
	Who     string
	Agent   bool
	Word    string
	Text    string
	Was     []wasView
	Imports string
}

// A wasView is a text that an edit replaced.
type wasView struct{ Name, Text string }

// eventWords are what events are called, where the kind itself is not a good word.
var eventWords = map[board.Kind]string{
	board.EventRed: "red check", board.EventUnjudged: "check did not judge", board.EventReview: "reported done", board.EventLanding: "reported done, queued to land",
	board.EventReviewing: "began a review", board.EventReviewEnded: "ended a review without a verdict", board.EventExpired: "lease ran out", board.EventClosed: "marked done",
	board.EventDue: "cool-down ended", board.EventDelivered: "got the task again", board.EventRevived: "came back", board.EventTold: "issue told",
}

// newEvent builds an entry of the history.
func (q *request) newEvent(e board.Event, now time.Time) eventView {
	v := eventView{Seq: e.Seq, At: q.site.clock(e.When(), now), Who: line(e.Actor, 60), Agent: e.Detail.By == board.ByAgent, Word: eventWords[e.Kind]}
	if v.Word == "" {
		v.Word = strings.ReplaceAll(line(string(e.Kind), 40), "_", " ")
	}
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if e.Kind == board.EventClaimed {
		add("attempt %d", e.Detail.Attempt)
		if e.Detail.Where.Branch != "" {
			add("on %s", line(e.Detail.Where.Branch, 120))
		}
	}
	if e.Kind == board.EventClosed {
		add("by hand, without check, review or landing")
	}
	if e.Detail.Why != "" {
		add("%s", line(e.Detail.Why, 300))
	}
	if e.Redoes() {
		add("earlier: %q", line(e.Detail.Prior, 300))
	} else if e.Detail.Prior != "" {
		add("%s", line(e.Detail.Prior, 300))
	}
	if e.Detail.Question != 0 {
		add("%v", e.Detail.Question)
	}
	if len(e.Detail.Fields) > 0 {
		add("%s", line(strings.ReplaceAll(strings.Join(e.Detail.Fields, ", "), "_", " "), 200))
	}
	if e.Detail.Commit != "" {
		add("with %s", line(e.Detail.Commit, 12))
	}
	if r := e.Detail.Returned; r != nil {
		add("%s", line(string(r.Kind), 40))
		if len(r.Files) > 0 {
			add("in %s", line(strings.Join(r.Files, ", "), 300))
		}
		if !r.Other.IsZero() {
			add("with %v", r.Other)
		}
	}
	if e.Detail.Percent > 0 {
		add("%d%%", e.Detail.Percent)
	}
	if e.Detail.Text != "" && e.Kind != board.EventCreated {
		add("“%s”", line(e.Detail.Text, 600))
	}
	for _, c := range e.Detail.Comments[:min(len(e.Detail.Comments), 10)] {
		add("%s: “%s”", line(c.Place(), 120), line(c.Text, 200))
	}
	if e.Detail.Late {
		add("after its claim had ended")
	}
	if e.From != e.To && e.From != "" && string(e.To) != string(e.Kind) && e.Kind != board.EventClaimed && e.To != board.Done {
		add("now %s", board.State(e.To))
	}
	v.Text = strings.Join(parts, " · ")
	if w := e.Detail.Was; w != nil {
		for _, x := range []wasView{{"Title", w.Title}, {"Description", w.Description}, {"Acceptance", w.Acceptance}} {
			if x.Text != "" {
				v.Was = append(v.Was, wasView{x.Name, cut(visible.Text(x.Text), 1000)})
			}
		}
	}
	return v
}
