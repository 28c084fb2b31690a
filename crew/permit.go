package crew

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew/agent"
)

// permissions are the answers that people choose from.
var permissions = []string{"yes", "yes, for this task", "no"}

// maxUse bounds how much of what an agent wants to do people are shown.
const (
	maxUse      = 2000
	maxUseLines = 16
)

// permit asks people whether an agent may do something, and tells it. If nobody answers in time,
// the task is parked; when it is handed out again, the answer holds for it.
func (j *job) permit(ctx context.Context, p agent.Permission) {
	use := strings.ToValidUTF8(p.Use, "\uFFFD")
	text := permitText(j.agent.Name(), p)
	if len(text) > maxUse || strings.Count(text, "\n") > maxUseLines {
		p.Answer(agent.No, "This is too long to be shown to people. Do it in smaller steps.")
		return
	}
	if answer, ok := j.answered(ctx, text); ok {
		decide(p, answer)
		return
	}
	q, err := j.r.o.Board.Ask(ctx, j.actor(), board.NewQuestion{Claim: j.h.Claim.Handle, Text: text, Options: permissions, HumanOnly: true})
	if err != nil {
		p.Answer(agent.No, fmt.Sprintf("People could not be asked whether they allow this: %v", err))
		return
	}
	j.tell(Asked, fmt.Sprintf("%v: may it use %s? %s", q.ID, p.Tool, use))
	for end := time.Now().Add(j.r.o.Limits.Answer); q.State == board.QuestionOpen && time.Now().Before(end) && ctx.Err() == nil; {
		if q, err = j.r.o.Board.Await(ctx, q.ID, min(waitTask, time.Until(end))); err != nil {
			j.tell(Trouble, fmt.Sprintf("the answer to %v is not known: %v", q.ID, err))
			j.rest(ctx, retryFirst)
		}
	}
	if q.State == board.QuestionAnswered {
		decide(p, q.Answer)
		return
	}
	if q.State == board.QuestionOpen && ctx.Err() == nil {
		if _, parked, err := j.r.o.Board.Park(ctx, j.actor(), q.ID); err == nil && parked {
			p.Answer(agent.No, "Nobody has answered yet. The task is parked. End your turn.")
			return
		}
	}
	p.Answer(agent.No, "Nobody has allowed this.")
}

// permitText is the question about a permission. What the agent wants to do stands behind a margin,
// so that no line of it looks like one of ours.
func permitText(name string, p agent.Permission) string {
	text := fmt.Sprintf("May %s use %s?", name, p.Tool)
	if len(p.Rules) > 0 {
		text += "\nFor this task that is: " + strings.Join(strings.Fields(strings.Join(p.Rules, ", ")), " ")
	}
	return strings.ToValidUTF8(text+"\n  | "+strings.ReplaceAll(strings.TrimRight(p.Use, "\n"), "\n", "\n  | "), "\uFFFD")
}

// answered returns what people answered to the same question about the task before: in an earlier
// attempt, or in this one for the whole task.
func (j *job) answered(ctx context.Context, text string) (answer string, ok bool) {
	d, err := j.r.o.Board.Get(ctx, j.h.Task.ID, 0)
	if err != nil {
		return "", false
	}
	for _, q := range d.Questions {
		if q.State == board.QuestionAnswered && q.Text == text && q.AnsweredAs == board.ByPerson &&
			(q.Claim != j.h.Claim.Handle || q.Answer == permissions[1]) {
			answer, ok = q.Answer, true
		}
	}
	return answer, ok
}

// decide tells an agent what people answered. Their own words are passed on with a refusal.
func decide(p agent.Permission, answer string) {
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case permissions[0]:
		p.Answer(agent.Once, "")
	case permissions[1]:
		p.Answer(agent.ForTask, "")
	case permissions[2]:
		p.Answer(agent.No, "A person has refused this.")
	default:
		p.Answer(agent.No, "A person has answered: "+answer)
	}
}
