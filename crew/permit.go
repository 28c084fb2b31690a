package crew

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew/agent"
	"github.com/bossman-dev/bossman/internal/visible"
)

// The answers that people choose from.
const (
	yes        = "yes"
	yesForTask = "yes, for this task"
	no         = "no"
)

// maxUse bounds how much of what an agent wants to do people are shown.
const (
	maxUse      = 2000
	maxUseLines = 16
)

// permit asks people whether an agent may do something, and tells it. If nobody answers in time,
// the task is parked; when it is handed out again, the answer holds for it, if it is known for what.
func (j *job) permit(ctx context.Context, p agent.Permission) {
	use := strings.ToValidUTF8(p.Use, "\uFFFD")
	text := permitText(j.agent.Name(), p)
	if len(text) > maxUse || strings.Count(text, "\n") > maxUseLines {
		p.Answer(agent.No, "This is too long to be shown to people. Do it in smaller steps.")
		return
	}
	options := []string{yes, yesForTask, no}
	if p.Vague {
		options = []string{yes, no}
	} else if answer, ok := j.answered(ctx, text); ok && !j.isReview() { // what was allowed to the worker is not the reviewer's
		decide(p, answer)
		return
	}
	ask := board.NewQuestion{Claim: j.h.Claim.Handle, Text: text, Options: options, HumanOnly: true}
	if j.isReview() { // which has no questions of its own
		ask.Claim, ask.Project, ask.Text = board.Handle{}, j.r.o.Project, fmt.Sprintf("%s\nIt reviews %v.", text, j.h.Task.ID)
	}
	q, err := j.r.o.Board.Ask(ctx, j.actor(), ask)
	if err != nil {
		p.Answer(agent.No, fmt.Sprintf("People could not be asked whether they allow this: %v", err))
		return
	}
	j.tell(Asked, fmt.Sprintf("%v: may it use %s? %s", q.ID, p.Tool, use))
	for end := time.Now().Add(j.r.o.Limits.Answer); q.State == board.QuestionOpen && time.Now().Before(end) && ctx.Err() == nil; {
		if q, err = j.r.o.Board.Await(ctx, q.ID, min(waitTask, time.Until(end))); err != nil {
			j.tell(Trouble, fmt.Sprintf("the answer to %v is not known: %v", q.ID, err))
			wait(ctx, retryFirst)
		}
	}
	if q.State == board.QuestionAnswered {
		j.settled(q)
		decide(p, q.Answer)
		return
	}
	if q.State == board.QuestionOpen && ctx.Err() == nil && !j.isReview() {
		if _, parked, err := j.r.o.Board.Park(ctx, j.actor(), q.ID); err == nil && parked {
			p.Answer(agent.No, "Nobody has answered yet. The task is parked. End your turn.")
			return
		}
	}
	p.Answer(agent.No, "Nobody has allowed this.")
}

// permitText is the question about a permission. What the agent wants to do, and what would be allowed
// for the task, stands behind a margin, so that no line of it looks like one of ours, whatever ends its
// lines, and wherever they are broken.
func permitText(name string, p agent.Permission) string {
	text := fmt.Sprintf("May %s use %s?", name, visible.Line(p.Tool))
	if use := strings.TrimRight(p.Use, "\n"); use != "" {
		text += quote(use)
	}
	switch {
	case p.Vague:
		text += "\nWhat exactly is not known: it does not say. A yes holds only this once."
	case len(p.Rules) > 0:
		text += "\nFor this task that is:"
		for _, rule := range p.Rules {
			text += quote(visible.Line(rule))
		}
	}
	return text
}

// quote returns the lines of a text of an agent, each behind a margin. Long gaps are spelled out: what
// follows one would be taken for something else.
func quote(text string) string {
	text = gaps.ReplaceAllStringFunc(visible.Text(text), func(gap string) string {
		if n := utf8.RuneCountInString(gap); n+7*strings.Count(gap, "\t") > maxGap {
			return fmt.Sprintf(" <%d blanks> ", n)
		}
		return gap
	})
	return "\n  | " + strings.ReplaceAll(text, "\n", "\n  | ")
}

// maxGap is how many columns may be blank between two words.
const maxGap = 32

var gaps = regexp.MustCompile(`[\t\p{Zs}]+`)

// answered returns what people answered to the same question about the task before: in an earlier
// attempt, or in this one for the whole task.
func (j *job) answered(ctx context.Context, text string) (answer string, ok bool) {
	d, err := j.r.o.Board.Get(ctx, j.h.Task.ID, 0)
	if err != nil {
		return "", false
	}
	return answerTo(text, d, j.h.Claim, j.r.o.Repo.CloneID())
}

// answerTo returns what people answered to a question about a permission in an attempt, or in earlier
// ones in the same clone and with the same key. Those of others are about other machines, and may be
// questions that an agent wrote.
func answerTo(text string, d board.Dossier, claim board.Claim, clone string) (answer string, ok bool) {
	ours := func(h board.Handle) bool {
		return slices.ContainsFunc(d.Attempts, func(a board.Attempt) bool {
			return a.Handle == h && a.Own(claim.Worker.Principal) && a.Where.Clone == clone
		})
	}
	for _, q := range d.Questions {
		if q.State != board.QuestionAnswered || q.Text != text || !q.HumanOnly || q.AnsweredAs != board.ByPerson {
			continue
		}
		if q.Claim == claim.Handle && q.Answer == yesForTask || q.Claim != claim.Handle && ours(q.Claim) {
			answer, ok = q.Answer, true
		}
	}
	return answer, ok
}

// decide tells an agent what people answered. Their own words are passed on with a refusal.
func decide(p agent.Permission, answer string) {
	answer = strings.TrimSpace(answer)
	switch said := strings.ToLower(answer); {
	case said == yes, said == yesForTask && p.Vague:
		p.Answer(agent.Once, "")
	case said == yesForTask:
		p.Answer(agent.ForTask, "")
	case said == no:
		p.Answer(agent.No, "A person has refused this.")
	default:
		p.Answer(agent.No, "A person has answered: "+answer)
	}
}
