package agents

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// A model stands in for a language model behind the Messages API: offered the
// tool it is scripted for, it asks for one call of it, and when it is shown the
// result it says that it is done.
type model struct {
	url   string
	tool  string
	input string

	mu     sync.Mutex
	tools  []string
	result string
}

func newModel(t *testing.T, tool, input string) *model {
	t.Helper()
	m := &model{tool: tool, input: input}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", m.messages)
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"input_tokens":10}`))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	m.url = server.URL
	return m
}

// toolResult is the tool_result block the model was shown, as JSON.
func (m *model) toolResult() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.result
}

// offered lists the tools of the last request.
func (m *model) offered() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tools
}

func (m *model) messages(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model    string
		Stream   bool
		Tools    []struct{ Name string }
		Messages []struct{ Content json.RawMessage }
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}

	m.mu.Lock()
	m.tools = nil
	offered, done := false, false
	for _, tool := range q.Tools {
		m.tools = append(m.tools, tool.Name)
		offered = offered || tool.Name == m.tool
	}
	for _, message := range q.Messages {
		var blocks []json.RawMessage
		_ = json.Unmarshal(message.Content, &blocks) // a plain string has none
		for _, block := range blocks {
			var b struct{ Type string }
			if json.Unmarshal(block, &b) == nil && b.Type == "tool_result" {
				done, m.result = true, string(block)
			}
		}
	}
	m.mu.Unlock()

	a := answer{model: q.Model}
	switch {
	case done:
		a.text = "Done."
	case offered:
		a.tool, a.input = m.tool, m.input
	default:
		a.text = "There is nothing I could call."
	}
	if q.Stream {
		a.stream(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a.message([]any{a.block()}, a.reason()))
}

// An answer is one message of the model: a text or the call of a tool.
type answer struct {
	model       string
	text        string
	tool, input string
}

func (a answer) reason() any {
	if a.tool != "" {
		return "tool_use"
	}
	return "end_turn"
}

func (a answer) block() map[string]any {
	if a.tool != "" {
		return map[string]any{"type": "tool_use", "id": "toolu_1", "name": a.tool, "input": json.RawMessage(a.input)}
	}
	return map[string]any{"type": "text", "text": a.text}
}

func (a answer) message(content []any, reason any) map[string]any {
	return map[string]any{
		"id": "msg_1", "type": "message", "role": "assistant", "model": a.model,
		"content": content, "stop_reason": reason, "stop_sequence": nil,
		"usage": map[string]any{"input_tokens": 1, "output_tokens": 1},
	}
}

// stream sends the message as events: an empty block first, then what is in it.
func (a answer) stream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(kind string, fields map[string]any) {
		fields["type"] = kind
		b, err := json.Marshal(fields)
		if err != nil {
			return // the reader then misses an event and says so
		}
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, b)
	}
	block := a.block()
	delta := map[string]any{"type": "text_delta", "text": a.text}
	if a.tool != "" {
		block["input"] = map[string]any{}
		delta = map[string]any{"type": "input_json_delta", "partial_json": a.input}
	} else {
		block["text"] = ""
	}
	event("message_start", map[string]any{"message": a.message([]any{}, nil)})
	event("content_block_start", map[string]any{"index": 0, "content_block": block})
	event("content_block_delta", map[string]any{"index": 0, "delta": delta})
	event("content_block_stop", map[string]any{"index": 0})
	event("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": a.reason(), "stop_sequence": nil},
		"usage": map[string]any{"output_tokens": 1},
	})
	event("message_stop", map[string]any{})
}
