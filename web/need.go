package web

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/permission"
	"github.com/bossman-dev/bossman/internal/visible"
)

// maxNeeds is how many things that need people a list shows.
const maxNeeds = 50

// A need is one thing that waits for a person.
type need struct {
	Key   string // its id in the page
	Shape shape
	Path  string
	// Before, Code and After are its headline, in which Code is what a machine wrote.
	Before, Code, After string
	Kind                string // Permission, Question, Review, …
	Task                board.ID
	TaskPath            string
	Facts               []string
	Since               moment
	Tail                string // a fact after the time, which may be long
	Bad                 string // the fact that is bad
	Due                 *dueFact
	Act                 string // the word on its button
	Go                  bool   // its button is the one to press first

	rank int // the lower, the more waiting costs
	at   time.Time
}

// A dueFact is a default and when it is taken.
type dueFact struct {
	Default string
	At      moment
	Overdue bool
}

// What waiting costs: an agent that stands still, all of a landing queue, finished work, work
// that nobody can begin, a decision that has a default.
const (
	rankAgent = iota
	rankLanding
	rankReview
	rankFailed
	rankStuck
	rankQuestion
	rankProposed
)

// needs lists what waits for a person in the projects of the page, by what waiting costs and
// then by age, and how many there are in all.
func (q *request) needs(ctx context.Context) (list []need, total int, now time.Time, err error) {
	for _, slug := range q.slugs {
		in, err := q.site.inbox(ctx, slug)
		if err != nil {
			return nil, 0, now, err
		}
		now = in.Now
		for i := range in.Open {
			list = append(list, q.site.questionNeed(&in.Open[i], now))
		}
		for _, w := range in.Landing {
			list = append(list, landingNeed(w, slug))
		}
		for i := range in.Review {
			list = append(list, reviewNeed(&in.Review[i], now))
		}
		for i := range in.Failed {
			list = append(list, failedNeed(&in.Failed[i], now))
		}
		for i := range in.Stuck {
			list = append(list, stuckNeed(&in.Stuck[i], now))
		}
		for i := range in.Proposed {
			list = append(list, proposedNeed(&in.Proposed[i], now))
		}
	}
	n, err := q.toApprove(ctx)
	if err != nil {
		return nil, 0, now, err
	}
	if n > 0 {
		list = append(list, approvalNeed(n))
	}
	slices.SortStableFunc(list, func(a, b need) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), a.at.Compare(b.at), strings.Compare(a.Key, b.Key))
	})
	total = len(list)
	list = list[:min(total, maxNeeds)]
	for i := range list {
		list[i].Go = i == 0 && list[i].rank == rankAgent
	}
	return list, total, now, nil
}

// waits reports whether an agent stands still until the question is answered.
func waits(q *board.Question) bool { return q.Blocking && !q.AskerLeft() }

func (s *Site) questionNeed(a *board.AskedQuestion, now time.Time) need {
	question := &a.Question
	n := need{
		Key: question.ID.String(), Path: questionPath(question.ID), Kind: "Question", Shape: shape{"ask", "you", "Question"}, Act: "Answer",
		Since: lasted(question.AskedAt, now), rank: rankQuestion, at: question.AskedAt,
	}
	n.setTask(question.Claim.Task)
	who := cmp.Or(visible.Line(question.Asker.Name), "An agent")
	first, _ := firstLine(question.Text)
	n.Before = who + ": " + cut(first, 160)
	if p, ok := permission.In(question); ok {
		n.Kind, n.Shape, n.Act = "Permission", shape{"lock", "you", "Permission"}, "Look"
		if !p.Risky {
			n.Act = "Answer"
		}
		n.Before, n.Code = who+" wants to use "+p.Tool, ""
		if use, _ := firstLine(p.Use); use != "" {
			n.Before, n.Code = who+" wants to run", cut(use, 120)
			if !isCommand(p.Tool) {
				n.Before = who + " wants to use " + p.Tool + ":"
			}
		}
		if len(p.Risks) > 0 {
			n.Bad = p.Risks[0] // its page has all of them
		} else if p.Vague {
			n.Bad = "it does not say what exactly"
		}
	}
	switch {
	case a.Reported == board.Done:
		n.Facts = append(n.Facts, "its task is done")
	case a.Reported != "":
		n.Facts = append(n.Facts, "its task was reported without it")
	case question.AskerLeft():
		n.Facts = append(n.Facts, "the asker has left")
	case question.Blocking:
		n.Facts = append(n.Facts, "blocks 1 agent")
	default:
		n.Facts = append(n.Facts, "blocks nobody")
	}
	if waits(question) {
		n.rank = rankAgent
	}
	n.Due = s.due(question, now)
	return n
}

// due says when a question's default is taken, or that its deadline has passed.
func (s *Site) due(q *board.Question, now time.Time) *dueFact {
	if q.NeededBy.IsZero() {
		return nil
	}
	return &dueFact{Default: line(q.Default, 60), At: s.clock(q.NeededBy, now), Overdue: now.After(q.NeededBy)}
}

// isCommand reports whether a tool runs commands.
func isCommand(tool string) bool {
	switch strings.ToLower(tool) {
	case "bash", "shell", "a command":
		return true
	}
	return false
}

func (n *need) setTask(id board.ID) {
	if n.Task = id; !id.IsZero() {
		n.TaskPath = taskPath(id)
	}
}

func landingNeed(w board.LandWait, slug string) need {
	n := need{
		Key: "landing-" + slug, Path: "/landing?project=" + slug, Kind: "Landing", Shape: shape{"land", "you", "Landing"}, Act: "Look",
		Before: "Nothing lands in " + slug + ": " + told(w.Author, w.Why, 200), rank: rankLanding,
	}
	switch {
	case w.Moved:
		n.Key, n.Before = "moved-"+slug, "Moved without Bossman, says "+landerOf(w.Author)+": "+quoted(line(w.Why, 200))
	case w.Idle:
		n.Key, n.Before = "idle-"+slug, line(w.Why, 200)+": bossman land"
	}
	if !w.Task.IsZero() {
		n.Key, n.Shape.ID = "landing-"+w.Task.String(), "clash"
		what := " cannot land: "
		if w.Untold {
			what = " is done, and its issue was not told: "
		}
		n.Before = w.Task.String() + what + told(w.Author, w.Why, 200)
		n.setTask(w.Task)
		n.Path = n.TaskPath
	}
	return n
}

func reviewNeed(t *board.OutlinedTask, now time.Time) need {
	n := need{
		Key: "review-" + t.Task.ID.String(), Path: "/review/" + t.Task.ID.String(), Kind: "Review", Shape: shape{"eye", "you", "Review"}, Act: "Review",
		Before: "Review “" + line(t.Task.Title, 140) + "”", rank: rankReview, at: t.Outline.EndedAt,
	}
	n.setTask(t.Task.ID)
	n.Facts = append(n.Facts, "attempt "+number(t.Task.Attempt))
	if t.Outline.Reviewer != "" {
		n.Facts = append(n.Facts, visible.Line(t.Outline.Reviewer)+" reviews it")
	} else if t.Outline.Summary != "" {
		n.Tail = line(t.Outline.Summary, 80)
	}
	if !n.at.IsZero() {
		n.Since = lasted(n.at, now)
	}
	return n
}

func failedNeed(t *board.OutlinedTask, now time.Time) need {
	n := need{
		Key: "failed-" + t.Task.ID.String(), Kind: "Failed", Shape: shape{"fail", "bad", "Failed"}, Act: "Look",
		Before: t.Task.ID.String() + " failed " + times(t.Task.Failures), rank: rankFailed, at: t.Outline.EndedAt,
		Facts: []string{"“" + line(t.Task.Title, 120) + "”"},
	}
	if t.Outline.Reason != "" {
		n.Before += ": " + line(t.Outline.Reason, 160)
	}
	n.setTask(t.Task.ID)
	n.Path = n.TaskPath
	if !n.at.IsZero() {
		n.Since = lasted(n.at, now)
	}
	return n
}

// times says how often: once, twice, three times.
func times(n int) string {
	switch n {
	case 0, 1:
		return "once"
	case 2:
		return "twice"
	case 3:
		return "three times"
	}
	return number(n) + " times"
}

func stuckNeed(t *board.OutlinedTask, now time.Time) need {
	n := need{
		Key: "stuck-" + t.Task.ID.String(), Kind: "Stuck", Shape: shape{"block", "bad", "Stuck"}, Act: "Look",
		Before: t.Task.ID.String() + " can never begin: " + t.Outline.DeadBlocker.String() + " " + deadWord(t.Outline.DeadBlockerStatus),
		Facts:  []string{"“" + line(t.Task.Title, 120) + "”"}, rank: rankStuck, at: t.Task.CreatedAt, Since: lasted(t.Task.CreatedAt, now),
	}
	n.setTask(t.Task.ID)
	n.Path = n.TaskPath
	return n
}

func deadWord(s board.Status) string {
	if s == board.Cancelled {
		return "was cancelled"
	}
	return "has failed"
}

func proposedNeed(t *board.OutlinedTask, now time.Time) need {
	n := need{
		Key: "draft-" + t.Task.ID.String(), Kind: "Proposal", Shape: shape{"held", "", "Proposal"}, Act: "Decide",
		Before: visible.Line(t.Outline.Created.Detail.Worker) + " proposes “" + line(t.Task.Title, 140) + "”",
		rank:   rankProposed, at: t.Task.CreatedAt, Since: lasted(t.Task.CreatedAt, now),
	}
	if t.Outline.Drafted.Kind != "" {
		n.Before = "An agent has made a draft of “" + line(t.Task.Title, 140) + "”"
	}
	n.setTask(t.Task.ID)
	n.Path = n.TaskPath
	return n
}
