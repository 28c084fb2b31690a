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
	"github.com/bossman-dev/bossman/mcp"
)

// mayElicit reports whether a person at the client is asked.
func (t *Tools) mayElicit(k *caller, q board.Question) bool {
	if t.o.Quiet || !k.call.Client().ElicitsForm() || q.HumanOnly && !t.personAt(k).Person {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.declines[t.client(k)]
}

// client names the connection of a call, as well as it is known.
func (t *Tools) client(k *caller) string { return k.Owner + "\n" + k.call.ClientInfo().Name }

// declined ends asking at this client: some say no by themselves.
func (t *Tools) declined(k *caller) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.declines) > 10_000 {
		clear(t.declines)
	}
	t.declines[t.client(k)] = true
}

// quickest is how long even a person in a hurry needs to say no. A client that
// follows tasks hears of the question only when it looks.
func quickest(c mcp.ClientCapabilities) time.Duration {
	if _, ok := c.Extensions["io.modelcontextprotocol/tasks"]; ok {
		return 2500 * time.Millisecond
	}
	return time.Second
}

// form asks a person for the answer.
func form(q board.Question) *mcp.ElicitParams {
	type property struct {
		Type        string   `json:"type"`
		Title       string   `json:"title"`
		Description string   `json:"description,omitzero"`
		Enum        []string `json:"enum,omitzero"`
		Default     string   `json:"default,omitzero"`
	}
	p := property{Type: "string", Title: "Answer", Default: q.Default}
	if len(q.Options) > 1 {
		p.Enum = q.Options
		if !slices.Contains(q.Options, q.Default) {
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
	return &mcp.ElicitParams{Message: about + ": " + q.Text, RequestedSchema: schema}
}

// personAt is the person at the caller's client: who has filled in a form that the
// client showed, which the model cannot do. It counts as a person with a person's
// credential, and on a person's own machine.
func (t *Tools) personAt(k *caller) board.Actor {
	return board.Actor{Principal: k.Principal, Name: "the person at the client", Person: t.piped() || k.credential}
}

// answered takes what the person at the client has filled in. Somebody else may have
// been quicker; then that counts.
func (t *Tools) answered(ctx context.Context, k *caller, q board.Question, content json.RawMessage) error {
	var filled struct {
		Answer string `json:"answer"`
	}
	if err := jsonv2.Unmarshal(content, &filled); err != nil {
		return err
	}
	if strings.TrimSpace(filled.Answer) == "" {
		return nil // an empty form is no answer
	}
	_, err := t.b.Answer(ctx, t.personAt(k), q.ID, filled.Answer)
	if errors.Is(err, board.ErrConflict) {
		return nil
	}
	return err
}
