// Package model stands in for language models, behind the interfaces that agents know: Anthropic's
// Messages here, OpenAI's Responses and Chat Completions and Google's in wire.go.
package model

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// TokensIn and TokensOut are what each answer costs.
const (
	TokensIn  = 100
	TokensOut = 10
)

// SearchTool is the name of Claude Code's tool that finds deferred tools. Codex's has a type
// of its own.
const SearchTool = "ToolSearch"

// A Request is what a model is asked: the tools that it is offered, and the results of its calls,
// as it is shown them. Raw is all of it, as JSON.
type Request struct {
	HTTP    *http.Request
	Raw     json.RawMessage
	Tools   []string
	Results []string
}

// Find returns the name under which a tool is offered: agents put the server's name before it.
func (q Request) Find(tool string) (name string, ok bool) {
	for _, name := range q.Tools {
		if name == tool || strings.HasSuffix(name, "_"+tool) || strings.HasSuffix(name, "."+tool) {
			return name, true
		}
	}
	return "", false
}

// A Move is what a model does next: it calls a tool, searches for one, or says something.
type Move struct {
	Text   string
	Search string // the tool to search for
	Tool   string // as the agent calls it
	Input  json.RawMessage
	ID     string // of the call
}

// Handler serves the interfaces. next says what the model does; it returns false if it has answered
// the request itself. Requests to other paths go to stray.
func Handler(next func(w http.ResponseWriter, q Request) (m Move, ok bool), stray http.HandlerFunc) http.Handler {
	s := server{next}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.messages)
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"input_tokens":10}`))
	})
	mux.HandleFunc("POST /v1/responses", s.responses)
	mux.HandleFunc("POST /v1/chat/completions", s.completions)
	mux.HandleFunc("POST /v1beta/models/{call}", s.generate)
	mux.HandleFunc("/", stray)
	return mux
}

type server struct {
	next func(w http.ResponseWriter, q Request) (Move, bool)
}

// read decodes a request. With BOSSMAN_E2E_MODEL_LOG, a file, it is kept there.
func read(w http.ResponseWriter, r *http.Request, into any) (raw json.RawMessage, ok bool) {
	err := json.NewDecoder(r.Body).Decode(&raw)
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return nil, false
	}
	if path := os.Getenv("BOSSMAN_E2E_MODEL_LOG"); path != "" {
		if f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			_, _ = fmt.Fprintf(f, "%s %s\n", r.URL.Path, raw)
			_ = f.Close()
		}
	}
	return raw, true
}

// messages is the Messages API.
func (s server) messages(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model    string
		Stream   bool
		Tools    []struct{ Name string }
		Messages []struct{ Content json.RawMessage }
	}
	raw, ok := read(w, r, &q)
	if !ok {
		return
	}
	var offered, shown []string
	for _, tool := range q.Tools {
		offered = append(offered, tool.Name)
	}
	for _, message := range q.Messages {
		var blocks []struct {
			Type      string
			ToolUseID string `json:"tool_use_id"`
			Content   json.RawMessage
		}
		_ = json.Unmarshal(message.Content, &blocks) // a plain string has none
		for _, b := range blocks {
			if b.Type == "tool_result" && !strings.HasPrefix(b.ToolUseID, "toolu_search_") {
				shown = append(shown, plainText(b.Content))
			}
		}
	}
	move, ok := s.next(w, Request{r, raw, offered, shown})
	if !ok {
		return
	}
	a := answer{q.Model, move}
	if a.Search != "" {
		a.Tool, a.Input = SearchTool, json.RawMessage(fmt.Sprintf(`{"query":"select:mcp__bossman__%s"}`, a.Search))
	}
	if q.Stream {
		a.stream(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a.message([]any{a.block()}, a.reason()))
}

// plainText is a text, or the texts of a list of blocks.
func plainText(content json.RawMessage) string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s
	}
	var blocks []struct{ Text string }
	if json.Unmarshal(content, &blocks) != nil {
		return string(content)
	}
	var texts []string
	for _, b := range blocks {
		texts = append(texts, b.Text)
	}
	return strings.Join(texts, "\n")
}

// An answer is one message of the model in the Messages API.
type answer struct {
	model string
	Move
}

func (a answer) reason() any {
	if a.Tool != "" {
		return "tool_use"
	}
	return "end_turn"
}

func (a answer) block() map[string]any {
	if a.Tool != "" {
		return map[string]any{"type": "tool_use", "id": "toolu_" + a.ID, "name": a.Tool, "input": a.Input}
	}
	return map[string]any{"type": "text", "text": a.Text}
}

func (a answer) message(content []any, reason any) map[string]any {
	return map[string]any{
		"id": "msg_" + rand.Text(), "type": "message", "role": "assistant", "model": a.model,
		"content": content, "stop_reason": reason, "stop_sequence": nil,
		"usage": map[string]any{"input_tokens": TokensIn, "output_tokens": TokensOut},
	}
}

// stream sends the message as events: an empty block first, then what is in it.
func (a answer) stream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(kind string, fields map[string]any) {
		fields["type"] = kind
		sendEvent(w, kind, fields)
	}
	block := a.block()
	delta := map[string]any{"type": "text_delta", "text": a.Text}
	if a.Tool != "" {
		block["input"] = map[string]any{}
		delta = map[string]any{"type": "input_json_delta", "partial_json": string(a.Input)}
	} else {
		block["text"] = ""
	}
	event("message_start", map[string]any{"message": a.message([]any{}, nil)})
	event("content_block_start", map[string]any{"index": 0, "content_block": block})
	event("content_block_delta", map[string]any{"index": 0, "delta": delta})
	event("content_block_stop", map[string]any{"index": 0})
	event("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": a.reason(), "stop_sequence": nil},
		"usage": map[string]any{"output_tokens": TokensOut},
	})
	event("message_stop", map[string]any{})
}

// sendEvent writes one event of a stream; without a kind it has data only.
func sendEvent(w http.ResponseWriter, kind string, data any) {
	b, err := json.Marshal(data)
	if err != nil {
		return // the reader then misses an event and says so
	}
	if kind != "" {
		_, _ = fmt.Fprintf(w, "event: %s\n", kind)
	}
	_, _ = fmt.Fprintf(w, "data: %s\n\n", b)
}
