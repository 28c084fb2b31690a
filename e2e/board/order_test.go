package board

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// oneShot writes lines to a new `bossman mcp`, all at once, closes its input, and returns its
// answers by their ids.
func (s *site) oneShot(t testing.TB, lines ...string) map[string]json.RawMessage {
	t.Helper()
	cmd := harness.Command(t.Context(), s.home, programs.Path(harness.Bossman), "mcp")
	cmd.Dir = s.dir
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	out := harness.Run(t, cmd)
	if out.Code != 0 {
		t.Fatalf("bossman mcp: exit code %d\n%s", out.Code, out.Stderr)
	}
	answers := map[string]json.RawMessage{}
	read := func(one json.RawMessage) {
		var m struct {
			ID     json.RawMessage
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal(one, &m); err != nil {
			t.Fatalf("%v in %s", err, one)
		}
		if answers[string(m.ID)] = m.Result; m.Error != nil {
			answers[string(m.ID)] = m.Error
		}
	}
	for in := bufio.NewReader(strings.NewReader(out.Stdout)); ; {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return answers
		}
		var batch []json.RawMessage
		if json.Unmarshal(line, &batch) != nil {
			batch = []json.RawMessage{line}
		}
		for _, one := range batch {
			read(one)
		}
	}
}

func toolCall(id int, meta, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s"name":%q,"arguments":%s}}`, id, meta, tool, arguments)
}

func handshake(revision string) []string {
	return []string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + revision + `","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	}
}

const statelessMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},`

// Fifty writes that a client sends without waiting are stored in the order in which it sent
// them. BOSSMAN_E2E_BURSTS sets how often each way is tried.
func TestOrder_burst(t *testing.T) {
	const writes = 50
	for name, lines := range map[string]func(calls []string) []string{
		"a session": func(calls []string) []string { return append(handshake("2025-11-25"), calls...) },
		"a batch": func(calls []string) []string {
			return append(handshake("2025-03-26"), "["+strings.Join(calls, ",")+"]")
		},
		"without a handshake": func(calls []string) []string { return calls },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			meta := ""
			if name == "without a handshake" {
				meta = statelessMeta
			}
			for range size(t, "BOSSMAN_E2E_BURSTS", 2) {
				s := newSite(t)
				var calls []string
				for i := range writes {
					calls = append(calls, toolCall(i+1, meta, "create_task", fmt.Sprintf(`{"title":"Task %d","description":"x"}`, i+1)))
				}
				answers := s.oneShot(t, lines(calls)...)
				var list struct{ Tasks []struct{ ID, Title string } }
				if err := json.Unmarshal([]byte(s.cli(t, "task", "list", "--json", "--limit", "100")), &list); err != nil {
					t.Fatal(err)
				}
				tasks := list.Tasks
				if len(tasks) != writes {
					t.Fatalf("%d tasks are stored, want %d: %s", len(tasks), writes, answers["1"])
				}
				for i, task := range tasks {
					if want := fmt.Sprintf("Task %d", i+1); task.Title != want {
						t.Fatalf("%s is %q, want %q", task.ID, task.Title, want)
					}
				}
			}
		})
	}
}

// A program that asks for a task eight times at once has one task afterwards.
func TestOrder_oneTask(t *testing.T) {
	for name, request := range map[string]func(id int) string{
		"the tool":   func(id int) string { return toolCall(id, statelessMeta, "get_next_task", `{}`) },
		"the method": func(id int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"getNextTask"}`, id) },
		"both": func(id int) string {
			if id%2 == 0 {
				return toolCall(id, statelessMeta, "get_next_task", `{}`)
			}
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"getNextTask"}`, id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range size(t, "BOSSMAN_E2E_BURSTS", 2) {
				s := newSite(t)
				var lines []string
				for i := range 8 {
					s.cli(t, "task", "add", fmt.Sprintf("Task %d", i+1))
					lines = append(lines, request(i+1))
				}
				answers := s.oneShot(t, lines...)
				if len(answers) != 8 {
					t.Errorf("%d answers, want 8", len(answers))
				}
				granted := map[string]int{}
				for _, e := range s.events(t) {
					if e.Kind == "claimed" {
						granted[e.Task]++
					}
				}
				if len(granted) != 1 || granted["web-1"] != 1 {
					t.Errorf("granted: %v, want web-1 once", granted)
				}
			}
		})
	}
}
