package agents

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A model stands in for a language model, behind the interfaces that agents know:
// the Messages API here, the others in wire_test.go. It does what its script says,
// and keeps what it was shown.
type model struct {
	url    string
	script script

	mu       sync.Mutex
	tools    []string // offered last
	told     string   // the first request, as it came
	last     string   // the last one
	shown    []string
	searched []string // tools that the agent had to be asked for
	sought   *sought  // what to do after the search
	strays   []string // requests to paths that nobody serves
}

// sought is the call of a tool that the model searches for first.
type sought struct {
	tool  string
	input any
}

// A script is what a model does next, when it has been shown these results of
// tools: the call of a tool, or nothing more. Agents put the server's name before
// the tool's; the script says the tool's own.
type script func(shown []string) (tool string, input any)

// once is a script of one call.
func once(tool string, input any) script {
	return func(shown []string) (string, any) {
		if len(shown) > 0 {
			return "", nil
		}
		return tool, input
	}
}

func newModel(t *testing.T, s script) *model {
	t.Helper()
	m := &model{script: s}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", m.messages)
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"input_tokens":10}`))
	})
	mux.HandleFunc("POST /v1/responses", m.responses)
	mux.HandleFunc("POST /v1/chat/completions", m.completions)
	mux.HandleFunc("POST /v1beta/models/{call}", m.generate)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.strays = append(m.strays, r.Method+" "+r.URL.Path)
		http.NotFound(w, r)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		if t.Failed() {
			t.Logf("the model was offered %v, shown %q, and asked for %v", m.tools, m.shown, m.strays)
		}
	})
	m.url = server.URL
	return m
}

// results are the texts that the model was shown as results of its calls.
func (m *model) results() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.shown
}

// request is what the model was told before it did anything: the agent's prompts,
// and the definitions of the tools, as JSON.
func (m *model) request() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.told
}

// heard is all that the model was told at last, as JSON.
func (m *model) heard() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}

// searches are the tools that the agent did not show the model before it searched for them.
func (m *model) searches() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.searched
}

// searchTool is the name of Claude Code's tool that finds deferred tools. Codex's has a type
// of its own.
const searchTool = "ToolSearch"

// A move is what the model does next: it calls a tool, searches for one, or says something.
type move struct {
	text   string
	search string // the tool to search for
	tool   string // as the agent calls it
	input  json.RawMessage
	id     string // of the call
}

// next asks the script, for a request with these tools and results.
func (m *model) next(request json.RawMessage, offered, shown []string) move {
	if len(offered) == 0 {
		return move{text: "Work"} // a side errand, such as a title
	}
	m.mu.Lock()
	m.tools, m.last = offered, string(request)
	if len(shown) == 0 {
		m.told = string(request)
	}
	if len(shown) >= len(m.shown) {
		m.shown = shown
	}
	m.mu.Unlock()
	tool, input := m.want(shown)
	if tool == "" {
		return move{text: "Done."}
	}
	for _, name := range offered {
		if name == tool || strings.HasSuffix(name, "_"+tool) || strings.HasSuffix(name, "."+tool) {
			b, err := json.Marshal(input)
			if err != nil {
				return move{text: err.Error()}
			}
			return move{tool: name, input: b, id: fmt.Sprintf("call_%d", len(shown)+1)}
		}
	}
	if slices.Contains(offered, searchTool) && !slices.Contains(m.searches(), tool) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.searched = append(m.searched, tool)
		m.sought = &sought{tool, input}
		return move{search: tool, id: fmt.Sprintf("search_%d", len(m.searched))}
	}
	return move{text: "There is nothing I could call."}
}

// want is what the script says, or what it said before a search.
func (m *model) want(shown []string) (tool string, input any) {
	m.mu.Lock()
	found := m.sought
	m.sought = nil
	m.mu.Unlock()
	if found != nil {
		return found.tool, found.input
	}
	return m.script(shown)
}

// read decodes a request. With BOSSMAN_E2E_MODEL_LOG, a file, it is kept there.
func (m *model) read(w http.ResponseWriter, r *http.Request, into any) (raw json.RawMessage, ok bool) {
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
func (m *model) messages(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model    string
		Stream   bool
		Tools    []struct{ Name string }
		Messages []struct{ Content json.RawMessage }
	}
	request, ok := m.read(w, r, &q)
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
	a := answer{q.Model, m.next(request, offered, shown)}
	if a.search != "" {
		a.tool, a.input = searchTool, json.RawMessage(fmt.Sprintf(`{"query":"select:mcp__bossman__%s"}`, a.search))
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
	move
}

func (a answer) reason() any {
	if a.tool != "" {
		return "tool_use"
	}
	return "end_turn"
}

func (a answer) block() map[string]any {
	if a.tool != "" {
		return map[string]any{"type": "tool_use", "id": "toolu_" + a.id, "name": a.tool, "input": a.input}
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
		sendEvent(w, kind, fields)
	}
	block := a.block()
	delta := map[string]any{"type": "text_delta", "text": a.text}
	if a.tool != "" {
		block["input"] = map[string]any{}
		delta = map[string]any{"type": "input_json_delta", "partial_json": string(a.input)}
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
