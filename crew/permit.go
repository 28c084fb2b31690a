package crew

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew/agent"
	"github.com/bossman-dev/bossman/internal/permission"
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
	text := permission.Text(permission.Permission{Agent: j.agent.Name(), Tool: p.Tool, Use: p.Use, Dir: p.Dir, Words: p.Words, Rules: p.Rules, Vague: p.Vague})
	if len(text) > maxUse || strings.Count(text, "\n") > maxUseLines {
		p.Answer(agent.No, "This is too long to be shown to people. Do it in smaller steps.")
		return
	}
	if !p.Vague && !j.isReview() { // what was allowed to the worker is not the reviewer's
		if answer, ok := j.answered(ctx, text); ok {
			decide(p, answer)
			return
		}
	}
	ask := board.NewQuestion{Claim: j.h.Claim.Handle, Text: text, Options: permission.Options(p.Vague), HumanOnly: true}
	if j.isReview() { // which has no questions of its own
		ask.Claim, ask.Project, ask.Text = board.Handle{}, j.r.o.Project, fmt.Sprintf("%s\nIt reviews %v.", text, j.h.Task.ID)
	}
	if _, ok := permission.In(&board.Question{Text: ask.Text, Options: ask.Options, HumanOnly: true}); !ok {
		p.Answer(agent.No, "This cannot be shown to people as it is. Do it in another way.")
		return
	}
	q, err := j.r.o.Board.Ask(ctx, j.actor(), ask)
	if err != nil {
		p.Answer(agent.No, fmt.Sprintf("People could not be asked whether they allow this: %v", err))
		return
	}
	j.tell(Asked, fmt.Sprintf("%v: may it use %s? %s", q.ID, p.What(), use))
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

// answered returns what people answered to the same question about the task before: in an earlier
// attempt, or in this one for the whole task.
func (j *job) answered(ctx context.Context, text string) (answer string, ok bool) {
	d, err := j.r.o.Board.Get(ctx, j.h.Task.ID, 0)
	if err != nil {
		return "", false
	}
	q, ok := answerTo(text, d, j.h.Claim, j.r.o.Repo.CloneID())
	if !ok || !j.spend(q) {
		return "", false
	}
	return q.Answer, true
}

// spend reports whether the answer to a question may be used now, and notes that it was. A yes is used once. In a job that goes on with an
// attempt under the same claim, the job before it may have used it, so it is not used there.
func (j *job) spend(q board.Question) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if isAnswer(q, permission.Yes) && (j.h.Again || j.spent[q.ID]) {
		return false
	}
	if j.spent == nil {
		j.spent = map[board.QuestionID]bool{}
	}
	j.spent[q.ID] = true
	return true
}

// answerTo returns the question about a permission that people have answered in an attempt, or in earlier
// ones in the same clone and with the same key. Those of others are about other machines, and may be
// questions that an agent wrote. A yes is for one attempt: the first one that was under way when it came, or
// after that. If that is the attempt that asked, it has got the answer when it came.
func answerTo(text string, d board.Dossier, claim board.Claim, clone string) (answered board.Question, ok bool) {
	for _, q := range d.Questions {
		if _, is := permission.In(&q); !is || q.State != board.QuestionAnswered || !permission.Same(q.Text, text) || q.AnsweredAs != board.ByPerson {
			continue
		}
		if q.Claim == claim.Handle {
			if isAnswer(q, permission.YesForTask) {
				answered, ok = q, true
			}
			continue
		}
		n := slices.IndexFunc(d.Attempts, func(a board.Attempt) bool { return a.Handle == q.Claim })
		if n < 0 || !d.Attempts[n].Own(claim.Worker.Principal) || d.Attempts[n].Where.Clone != clone {
			continue
		}
		earlier := slices.ContainsFunc(d.Attempts, func(a board.Attempt) bool {
			return a.Attempt >= q.Claim.Attempt && a.Attempt < claim.Attempt && (a.EndedAt.IsZero() || !a.EndedAt.Before(q.AnsweredAt))
		})
		if !isAnswer(q, permission.Yes) || !earlier {
			answered, ok = q, true
		}
	}
	return answered, ok
}

// isAnswer reports whether a question has an answer, in whatever case people wrote it.
func isAnswer(q board.Question, answer string) bool {
	return strings.EqualFold(strings.TrimSpace(q.Answer), answer)
}

// decide tells an agent what people answered. Their own words are passed on with a refusal.
func decide(p agent.Permission, answer string) {
	answer = strings.TrimSpace(answer)
	switch said := strings.ToLower(answer); {
	case said == permission.Yes, said == permission.YesForTask && p.Vague:
		p.Answer(agent.Once, "")
	case said == permission.YesForTask:
		p.Answer(agent.ForTask, "")
	case said == permission.No:
		p.Answer(agent.No, "A person has refused this.")
	default:
		p.Answer(agent.No, "A person has answered: "+answer)
	}
}
