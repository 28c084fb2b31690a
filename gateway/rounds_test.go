package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/mcp"
)

// Two agents at one pipe of an older revision, both of whose calls ask: no answer reaches the wrong caller, and no
// question the wrong agent. BOSSMAN_QUESTION_ROUNDS is how often.
func TestQuestions_rounds(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("BOSSMAN_QUESTION_ROUNDS"))
	if err != nil {
		rounds = 150
	}
	up := quietServer()
	raw(t, up, `{"name":"ask","inputSchema":{"type":"object"}}`, func(ctx context.Context, c *mcp.Call) (json.RawMessage, error) {
		var in struct{ Who string }
		if err := json.Unmarshal(c.Arguments(), &in); err != nil {
			return nil, err
		}
		res, err := c.Elicit("q", &mcp.ElicitParams{Message: "Are you " + in.Who + "?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)}, nil)
		if errors.Is(err, mcp.ErrDismissed) || err == nil && res.Action != "accept" {
			return json.RawMessage(`{"content":[{"type":"text","text":"cancel"}]}`), nil
		}
		if err != nil {
			return nil, err
		}
		return fmt.Appendf(nil, `{"content":[{"type":"text","text":%q}]}`, string(res.Content)), nil
	})
	l := newLab(t, map[string]*mcp.Server{"up": up}, mcp.R20250618, nil)
	var mu sync.Mutex
	counts := map[string]int{}
	count := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		counts[what]++
	}
	agents := map[string]*mcp.Client{}
	for who, revision := range map[string]mcp.Revision{"ada": mcp.R20250618, "bob": mcp.R20260728} {
		agents[who] = connect(t, l.server, revision, &mcp.ClientOptions{Elicit: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			if !strings.HasSuffix(p.Message, "\n> Are you "+who+"?") {
				count("asked the wrong agent")
			}
			return &mcp.ElicitResult{Action: "accept", Content: fmt.Appendf(nil, `{"name":%q}`, who)}, nil
		}})
	}
	i := l.instance(l.upstreams["up"], "")
	begun := time.Now()
	for round := range rounds {
		if round%3 == 0 { // as if nothing had been learnt
			i.queue.mu.Lock()
			i.queue.max = 16
			i.queue.mu.Unlock()
		}
		var wg sync.WaitGroup
		for who, c := range agents {
			wg.Go(func() {
				res, err := c.Call(t.Context(), "up__ask", map[string]string{"Who": who}, nil)
				switch {
				case err != nil:
					t.Error(err)
				case res.Content[0].Text == fmt.Sprintf(`{"name":%q}`, who):
					count("answered")
				case res.Content[0].Text == "cancel":
					count("cancelled")
				default:
					count("wrong: " + res.Content[0].Text)
				}
			})
		}
		wg.Wait()
	}
	t.Logf("%d rounds in %v: %v", rounds, time.Since(begun).Round(time.Millisecond), counts)
	if counts["answered"] < rounds || counts["answered"]+counts["cancelled"] != 2*rounds || len(counts) > 2 {
		t.Errorf("%d rounds: %v", rounds, counts)
	}
}
