package push

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

// TestChoose: a delivery is made only for those who may see it, want it, and have not seen it.
func TestChoose(t *testing.T) {
	now := time.Now()
	task := board.ID{Project: "web", No: 1}
	key := func(id, project string, role auth.Role) auth.Key {
		return auth.Key{ID: id, Owner: id, Person: true, Project: project, Role: role}
	}
	keys := map[string]auth.Key{}
	for _, k := range []auth.Key{
		key("worker", "web", auth.Worker), key("viewer", "web", auth.Viewer), key("lead", auth.EveryProject, auth.Lead), key("other", "api", auth.Admin),
		{ID: "agent", Project: "web", Role: auth.Lead},
		{ID: "revoked", Person: true, Project: "web", Role: auth.Lead, Revoked: now},
		{ID: "disabled", Person: true, Project: "web", Role: auth.Lead, OwnerDisabled: now},
		{ID: "expired", Person: true, Project: "web", Role: auth.Lead, Expires: now},
	} {
		keys[k.ID] = k
	}
	b := &Batch{
		Keys: keys, Now: now, Projects: []board.Project{{Slug: "web"}, {Slug: "api"}, {Slug: "old", Archived: true}},
		Events: []board.Event{
			{Task: task, Seq: 1, Kind: board.EventAsked, Detail: board.Detail{Question: 7}},
			{Task: task, Seq: 2, Kind: board.EventReview},
			{Task: task, Seq: 3, Kind: board.EventFailed, To: board.Pending},
			{Task: task, Seq: 4, Kind: board.EventFailed, To: board.Failed},
			{Task: board.ID{Project: "old", No: 1}, Seq: 5, Kind: board.EventFailed, To: board.Failed},
			{Task: board.ID{Project: "ghost", No: 1}, Seq: 6, Kind: board.EventFailed, To: board.Failed},
		},
		Questions: []board.Question{{ID: 9, Project: "web", State: board.QuestionOpen, AskedAt: now}, {ID: 8, Project: "web", State: board.QuestionOpen, AskedAt: now.Add(-time.Hour)}},
		Seen:      func(x *Target, e *board.Event) bool { return x.Name == "late" && e.Seq < 4 },
	}
	mine := []string{"question.asked", "task.review", "task.failed"}
	for _, c := range []struct {
		target Target
		want   string
	}{
		{Target{Kind: Browser, Key: "worker", Events: mine}, "question.asked q-7, task.failed 4, question.asked q-9"},
		{Target{Kind: Ntfy, Key: "viewer", Events: mine}, "task.failed 4"},
		{Target{Kind: Browser, Key: "lead", Events: mine}, "question.asked q-7, task.review 2, task.failed 4, question.asked q-9"},
		{Target{Kind: Browser, Key: "lead", Events: mine, Name: "late"}, "task.failed 4, question.asked q-9"},
		{Target{Kind: Browser, Key: "lead", Events: []string{"task.review"}}, "task.review 2"},
		{Target{Kind: Webhook, Project: "web", Events: []string{"task.*"}}, "task.review 2, task.failed 3, task.failed 4"},
		{Target{Kind: Webhook, Project: auth.EveryProject, Events: []string{"task.failed"}}, "task.failed 3, task.failed 4"},
		{Target{Kind: Webhook, Project: "api", Events: []string{"task.*", "question.*"}}, ""},
		{Target{Kind: Webhook, Project: "old", Events: []string{"task.*"}}, ""},
		{Target{Kind: Browser, Key: "other", Events: mine}, ""},
		{Target{Kind: Browser, Key: "agent", Events: mine}, ""},
		{Target{Kind: Browser, Key: "revoked", Events: mine}, ""},
		{Target{Kind: Browser, Key: "disabled", Events: mine}, ""},
		{Target{Kind: Browser, Key: "expired", Events: mine}, ""},
		{Target{Kind: Browser, Key: "unknown", Events: mine}, ""},
	} {
		c.target.Created = now.Add(-time.Minute)
		b.Targets = []Target{c.target}
		var got []string
		for _, d := range choose(b) {
			text := d.Type + " " + strconv.FormatInt(d.Seq, 10)
			if d.Question != 0 {
				text = d.Type + " " + d.Question.String()
			}
			got = append(got, text)
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s %s%s %s gets %q, want %q", c.target.Kind, c.target.Key, c.target.Project, c.target.Name, text, c.want)
		}
	}
}
