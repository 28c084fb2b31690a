package tools

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
	"github.com/bossman-dev/bossman/mcp"
)

// mayElicit reports whether the question may be shown to the person at the client.
func (t *Tools) mayElicit(k *caller, q board.Question) bool {
	return t.mayShowForm(k) && (!q.HumanOnly || t.personAt(k).Person)
}

// mayAskPerson reports whether a form may be shown whose answer is a person's own act.
func (t *Tools) mayAskPerson(k *caller) bool { return t.mayShowForm(k) && t.personAt(k).Person }

// mayShowForm reports whether the client can show a form to the person at it.
func (t *Tools) mayShowForm(k *caller) bool {
	if t.o.Quiet || !k.call.ClientCapabilities().HasForm() {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.declines[t.connectionKey(k)]
}

// connectionKey identifies the connection of a call by its owner and client name.
func (t *Tools) connectionKey(k *caller) string { return k.Owner + "\n" + k.call.ClientInfo().Name }

// stopEliciting turns elicitation off for the connection of a call, because its client
// declines without asking anyone.
func (t *Tools) stopEliciting(k *caller) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.declines) > 10_000 {
		clear(t.declines)
	}
	t.declines[t.connectionKey(k)] = true
}

// instantDecline is the time within which only a client itself can decline, not a person.
// It is longer for a client with the Tasks extension, which polls for the question.
func instantDecline(c mcp.ClientCapabilities) time.Duration {
	if _, ok := c.Extensions["io.modelcontextprotocol/tasks"]; ok {
		return 2500 * time.Millisecond
	}
	return time.Second
}

// answerForm is the form in which a person answers a question.
func answerForm(q board.Question) *mcp.ElicitParams {
	type property struct {
		Type        string   `json:"type"`
		Title       string   `json:"title"`
		Description string   `json:"description,omitzero"`
		Enum        []string `json:"enum,omitzero"`
		Default     string   `json:"default,omitzero"`
	}
	p := property{Type: "string", Title: "Answer", Default: visible.Line(q.Default)}
	if len(q.Options) > 1 {
		for _, o := range q.Options {
			p.Enum = append(p.Enum, visible.Line(o))
		}
		if !slices.Contains(p.Enum, p.Default) {
			p.Default = ""
		}
	}
	schema := must(jsonv2.Marshal(map[string]any{
		"type": "object", "properties": map[string]property{"answer": p}, "required": []string{"answer"},
	}, jsonv2.Deterministic(true)))
	about := q.ID.String()
	if !q.Claim.IsZero() {
		about += " about " + q.Claim.Task.String()
	}
	return &mcp.ElicitParams{Message: about + ", asked by an agent:\n" + block(q.Text), RequestedSchema: schema}
}

// personAtClient is the name of the person who fills in a form.
const personAtClient = "the person at the client"

// personAt returns the person at the caller's client as an actor. Only a person can fill in
// a form that the client shows; a model cannot. The actor counts as a person if the
// credential is a person's, or on a person's own machine.
func (t *Tools) personAt(k *caller) board.Actor {
	return board.Actor{Principal: k.Principal, Name: personAtClient, Person: t.piped() || k.credential}
}

// recordAnswer records the form that the person at the client filled in. If someone else
// answered first, that answer stands.
func (t *Tools) recordAnswer(ctx context.Context, k *caller, q board.Question, content json.RawMessage) error {
	var filled struct {
		Answer string `json:"answer"`
	}
	if err := jsonv2.Unmarshal(content, &filled); err != nil {
		return err
	}
	if strings.TrimSpace(filled.Answer) == "" {
		return nil // an empty form is not an answer
	}
	for _, o := range append(slices.Clone(q.Options), q.Default) {
		if visible.Line(o) == filled.Answer {
			filled.Answer = o
			break
		}
	}
	_, err := t.b.Answer(ctx, t.personAt(k), q.ID, filled.Answer)
	if errors.Is(err, board.ErrConflict) {
		return nil
	}
	return err
}
