package agents

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/bossman-dev/bossman/e2e/internal/model"
)

// A standIn is a model that does what its script says, and keeps what it was shown.
type standIn struct {
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

func newModel(t *testing.T, s script) *standIn {
	t.Helper()
	m := &standIn{script: s}
	handler := model.Handler(m.next, func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.strays = append(m.strays, r.Method+" "+r.URL.Path)
		http.NotFound(w, r)
	})
	server := httptest.NewServer(handler)
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
func (m *standIn) results() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.shown
}

// request is what the model was told before it did anything: the agent's prompts,
// and the definitions of the tools, as JSON.
func (m *standIn) request() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.told
}

// heard is all that the model was told at last, as JSON.
func (m *standIn) heard() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}

// searches are the tools that the agent did not show the model before it searched for them.
func (m *standIn) searches() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.searched
}

// next asks the script.
func (m *standIn) next(_ http.ResponseWriter, q model.Request) (model.Move, bool) {
	return m.move(q), true
}

func (m *standIn) move(q model.Request) model.Move {
	if len(q.Tools) == 0 {
		return model.Move{Text: "Work"} // a side errand, such as a title
	}
	m.mu.Lock()
	m.tools, m.last = q.Tools, string(q.Raw)
	if len(q.Results) == 0 {
		m.told = string(q.Raw)
	}
	if len(q.Results) >= len(m.shown) {
		m.shown = q.Results
	}
	m.mu.Unlock()
	tool, input := m.want(q.Results)
	if tool == "" {
		return model.Move{Text: "Done."}
	}
	if name, ok := q.Find(tool); ok {
		b, err := json.Marshal(input)
		if err != nil {
			return model.Move{Text: err.Error()}
		}
		return model.Move{Tool: name, Input: b, ID: fmt.Sprintf("call_%d", len(q.Results)+1)}
	}
	if slices.Contains(q.Tools, model.SearchTool) && !slices.Contains(m.searches(), tool) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.searched = append(m.searched, tool)
		m.sought = &sought{tool, input}
		return model.Move{Search: tool, ID: fmt.Sprintf("search_%d", len(m.searched))}
	}
	return model.Move{Text: "There is nothing I could call."}
}

// want is what the script says, or what it said before a search.
func (m *standIn) want(shown []string) (tool string, input any) {
	m.mu.Lock()
	found := m.sought
	m.sought = nil
	m.mu.Unlock()
	if found != nil {
		return found.tool, found.input
	}
	return m.script(shown)
}
