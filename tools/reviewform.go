package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
	"github.com/bossman-dev/bossman/mcp"
)

// personReviews shows the person at the client a form and records what they decide. The
// arguments of the call play no part in it. Where no form can be shown, the call is
// refused with the command for a person.
func (t *Tools) personReviews(ctx context.Context, k *caller, d board.Dossier, p board.Project) (*answer, error) {
	id := d.Task.ID
	if !t.mayAskPerson(k) {
		return nil, personOnly(id, fmt.Sprintf("The policy of %s is %s: only a person decides, and no form can be shown to one here.", p.Slug, p.Policy))
	}
	begun, err := mcp.Once(k.call, "begun", func() (int64, error) { return time.Now().UnixMilli(), nil })
	if err != nil {
		return nil, err
	}
	shown, err := mcp.Once(k.call, "attempt", func() (int, error) { return d.Task.Attempt, nil })
	if err != nil {
		return nil, err
	}
	deadline := time.UnixMilli(begun).Add(maxWait * time.Second)
	res, err := k.call.Elicit("review", reviewForm(d), &mcp.AskOptions{Until: func(ctx context.Context) { t.untilReviewed(ctx, id, deadline) }})
	switch {
	case errors.Is(err, mcp.ErrDeclined): // with an error: the client cannot elicit after all
		t.stopEliciting(k)
		return nil, personOnly(id, "Only a person decides, and the client could not show the form.")
	case errors.Is(err, mcp.ErrWithdrawn):
		return t.reviewWithdrawn(ctx, k, id)
	case err != nil:
		return nil, err
	case res.Action != "accept":
		if time.Since(time.UnixMilli(begun)) < instantDecline(k.call.ClientCapabilities()) {
			t.stopEliciting(k) // too fast for a person
		}
		return nil, personOnly(id, "Only a person decides, and the person at the client has not.")
	}
	var filled struct {
		Verdict board.Verdict `json:"verdict"`
		Note    string        `json:"note"`
	}
	if err := jsonv2.Unmarshal(res.Content, &filled); err != nil {
		return nil, err
	}
	if filled.Verdict != board.Accept && filled.Verdict != board.Reject {
		return nil, personOnly(id, "The form has no verdict.")
	}
	out, err := t.b.Review(ctx, t.personAt(k), id, board.Decision{Verdict: filled.Verdict, Note: strings.TrimSpace(filled.Note), Attempt: shown})
	if err != nil {
		e := action{what: "Not reviewed.", task: id}
		if errors.Is(err, board.ErrInvalid) {
			e.next = "Next: call again to show the person the form once more."
		}
		return nil, k.refuse(e, err)
	}
	s := "The person at the client decided. " + verdictText(filled.Verdict, out)
	if filled.Verdict == board.Reject {
		s = strings.Replace(s, "your note", "their note", 1)
	}
	return &answer{text: s, result: wireOutcomeOf(out)}, nil
}

// untilReviewed returns when a task is no longer in review, or at the deadline.
func (t *Tools) untilReviewed(ctx context.Context, id board.ID, deadline time.Time) {
	for ctx.Err() == nil {
		left, changes := time.Until(deadline), t.b.Changes()
		if d, err := t.b.Get(ctx, id, 0); left <= 0 || err == nil && d.Task.Status != board.InReview {
			return
		}
		board.WaitFor(ctx, changes, min(left, time.Second))
	}
}

// reviewWithdrawn is the answer after the form was withdrawn: someone else has decided, or
// the person took too long.
func (t *Tools) reviewWithdrawn(ctx context.Context, k *caller, id board.ID) (*answer, error) {
	d, err := t.b.Get(ctx, id, 0)
	if err != nil {
		return nil, k.refuse(action{what: "Not reviewed.", task: id}, err)
	}
	if d.Task.Status == board.InReview {
		return nil, personOnly(id, fmt.Sprintf("Only a person decides, and the person at the client has not, for %d s.", maxWait))
	}
	return &answer{text: fmt.Sprintf("Someone else has decided: %v is %s.", id, d.Task.Status), result: wireOf(d.Task, d.Doc)}, nil
}

// personOnly refuses a verdict that only a person may give.
func personOnly(id board.ID, why string) error {
	return &refusal{
		what: "Not reviewed.", state: fmt.Sprintf("%v is still in review.", id), why: why, code: "person_only", err: board.ErrDenied,
		next: fmt.Sprintf("Tell the person you work for to run `bossman task review %v` in a terminal of their own; do not run it yourself. Continue with other work, or end your turn.", id),
	}
}

// reviewForm is the form in which a person reviews a task.
func reviewForm(d board.Dossier) *mcp.ElicitParams {
	type property struct {
		Type        string   `json:"type"`
		Title       string   `json:"title"`
		Description string   `json:"description,omitzero"`
		Enum        []string `json:"enum,omitzero"`
	}
	schema := must(jsonv2.Marshal(map[string]any{
		"type": "object",
		"properties": map[string]property{
			"verdict": {Type: "string", Title: "Verdict", Description: "Is it done?", Enum: []string{string(board.Accept), string(board.Reject)}},
			"note":    {Type: "string", Title: "Note", Description: "Needed to reject: what the next attempt must do better."},
		},
		"required": []string{"verdict"},
	}, jsonv2.Deterministic(true)))
	lines := []string{fmt.Sprintf("Review %v: %s", d.Task.ID, inline(d.Task.Title, 200))}
	if d.Doc.Acceptance != "" {
		lines = append(lines, "Done when:", cutLines(block(d.Doc.Acceptance), 500))
	}
	if r := resultText(d.Doc.Result, 1000); r != "" {
		lines = append(lines, r)
	}
	return &mcp.ElicitParams{Message: visible.Text(strings.Join(lines, "\n")), RequestedSchema: schema}
}
