package crew

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/bossman-dev/bossman/e2e/internal/model"
)

// playerVariable makes the test's own program play recordings of an agent, which it names.
const playerVariable = "CREW_PLAYER"

// A player stands in for an agent. It says what the agent said in a recording and waits where that
// waited, but asks the model of this test what to do, and does that.
type player struct {
	url     string // of the model
	kind    kind
	lines   []line
	in      *bufio.Reader
	server  mcpServer // Bossman's, as the runner has set it up
	told    []string  // by the runner
	results []string

	session string
	reset   string     // when the limit ends that was reached
	answers int        // in the session
	scale   int        // what answers is at this place of the recording
	move    model.Move // which has no result yet, if it has a tool
}

// An mcpServer is the command of an MCP server.
type mcpServer struct {
	Command string
	Args    []string
	Env     map[string]string
}

// play plays the recording for the job at hand.
func play(agent, url string) error {
	p := &player{url: url, kind: codex, in: bufio.NewReader(os.Stdin)}
	if agent == "claude" {
		if err := p.beClaude(); err != nil {
			return err
		}
	} else {
		p.session = fmt.Sprintf("00000000-0000-4000-8000-%012x", rand.Int64N(1<<48))
	}
	earlier, err := os.ReadFile(p.counter())
	if err == nil {
		p.answers, err = strconv.Atoi(string(earlier))
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	r, err := send(http.MethodGet, url+"/recording", p.kind, nil)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	recording, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("no recording: %s", recording)
	}
	if err == nil {
		p.lines, err = readRecording(recording)
	}
	if err != nil {
		return err
	}
	for at := 0; at < len(p.lines); at++ {
		switch l := p.lines[at]; l.From {
		case "model":
			at, err = p.consult(at)
		case "client":
			err = p.hear(l)
		default:
			err = p.say(l)
		}
		if err != nil {
			return err
		}
	}
	_, err = io.Copy(io.Discard, p.in) // until the runner lets it end
	return err
}

// beClaude takes from the command line what Claude Code takes from there.
func (p *player) beClaude() error {
	p.kind = oauth
	if os.Getenv("ANTHROPIC_API_KEY") != "" {
		p.kind = key
	}
	for i, flag := range os.Args[:len(os.Args)-1] {
		switch value := os.Args[i+1]; flag {
		case "--session-id", "--resume":
			p.session = value
		case "--mcp-config":
			var c struct{ MCPServers map[string]mcpServer }
			if err := json.Unmarshal([]byte(value), &c); err != nil {
				return err
			}
			p.server = c.MCPServers["bossman"]
		}
	}
	p.server.Env = map[string]string{} // it has all of Claude Code's
	for _, v := range os.Environ() {
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, "BOSSMAN_") {
			p.server.Env[name] = value
		}
	}
	return nil
}

// counter is the file with the number of answers in the session.
func (p *player) counter() string { return filepath.Join(os.Getenv("HOME"), "answers-"+p.session) }

// consult asks the model what to do, and returns where that is in the recording, at or after a
// line if there.
func (p *player) consult(at int) (int, error) {
	move, h, err := consult(p.url, p.kind, query{Tools: answersIn(p.lines), Results: p.results, Told: p.told})
	if err != nil {
		return 0, err
	}
	answer := move.Tool
	if p.reset = cmp.Or(h.Get("Anthropic-Ratelimit-Unified-Reset"), h.Get("X-Codex-Primary-Reset-At")); p.reset != "" {
		answer = "limit"
	} else {
		p.answers++
		if err := os.WriteFile(p.counter(), []byte(strconv.Itoa(p.answers)), 0o600); err != nil {
			return 0, err
		}
	}
	same := func(l line) bool { return l.From == "model" && l.answer() == answer }
	found := slices.IndexFunc(p.lines[at:], same) + at
	if found < at {
		found = slices.IndexFunc(p.lines, same)
	}
	if found < 0 {
		return 0, fmt.Errorf("no %q in the recording", answer)
	}
	p.move, p.scale = move, p.lines[found].Answers
	return found, nil
}

// fill puts in what differs from job to job.
func (p *player) fill(text json.RawMessage) (frame map[string]any, err error) {
	claim, task := os.Getenv("BOSSMAN_CLAIM"), os.Getenv("BOSSMAN_TASK")
	attempt, _, _ := strings.Cut(strings.TrimPrefix(claim, task+"/"), ".")
	filled := strings.NewReplacer(
		`"{reset}"`, cmp.Or(p.reset, "0"), "{claim}", claim, "{task}", task, "{file}", task+"-"+attempt+".txt",
		"{session}", p.session, "{dir}", os.Getenv("BOSSMAN_WORKTREE"), "{home}", os.Getenv("HOME"), "{url}", p.url,
	).Replace(string(text))
	return frame, json.Unmarshal([]byte(filled), &frame)
}

// hear waits until the runner says what it says in the recording.
func (p *player) hear(l line) error {
	said, err := p.in.ReadString('\n')
	if err != nil {
		return fmt.Errorf("the runner says nothing, want %s: %w", l.Line, err)
	}
	var got any
	if err := json.Unmarshal([]byte(said), &got); err != nil {
		return err
	}
	want, err := p.fill(l.Line)
	if err != nil {
		return err
	}
	if !fits(got, want) {
		return fmt.Errorf("the runner says %s, want %s", said, l.Line)
	}
	p.told = append(p.told, said)
	if server := field(got, "params", "config", "mcp_servers", "bossman"); server != nil {
		b, err := json.Marshal(server)
		if err != nil {
			return err
		}
		return json.Unmarshal(b, &p.server)
	}
	return nil
}

// fits reports whether a message has everything that a recorded one has.
func fits(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		m, ok := got.(map[string]any)
		for name := range want {
			ok = ok && fits(m[name], want[name])
		}
		return ok
	case []any:
		list, ok := got.([]any)
		return ok && slices.EqualFunc(list, want, fits)
	}
	return want == "{prompt}" || want == "{env}" || reflect.DeepEqual(got, want)
}

// field is the field of a message with a path, nil if it has none.
func field(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// say says what the agent says in the recording. If that is the end of a call, the call is made
// before, unless it was refused.
func (p *player) say(l line) error {
	frame, err := p.fill(l.Line)
	if err != nil {
		return err
	}
	if ended, refused := endOfCall(frame); ended && p.move.Tool != "" {
		result := "refused"
		if !refused {
			if result, err = p.call(); err != nil {
				return err
			}
		}
		p.results, p.move = append(p.results, result), model.Move{}
	}
	p.count(frame)
	return json.NewEncoder(os.Stdout).Encode(frame)
}

// endOfCall reports whether a message says that a call has ended, and whether it was refused.
func endOfCall(frame map[string]any) (ended, refused bool) {
	if frame["type"] == "user" { // of Claude Code
		content, _ := field(frame, "message", "content").([]any)
		return true, slices.ContainsFunc(content, func(c any) bool { return field(c, "is_error") == true })
	}
	kind := field(frame, "params", "item", "type")
	ended = frame["method"] == "item/completed" && (kind == "commandExecution" || kind == "mcpToolCall")
	return ended, field(frame, "params", "item", "status") == "declined"
}

// call makes the call that the model wants.
func (p *player) call() (result string, err error) {
	var input struct {
		Command, Cmd string
		Path         string `json:"file_path"`
		Content      string
	}
	if err := json.Unmarshal(p.move.Input, &input); err != nil {
		return "", err
	}
	switch p.move.Tool {
	case "Write":
		return "written", os.WriteFile(input.Path, []byte(input.Content), 0o600)
	case "Bash", "exec_command":
		return shell(input.Command + input.Cmd), nil
	}
	args := []string{"client", "call", p.move.Tool, "--input", "-"}
	for _, name := range slices.Sorted(maps.Keys(p.server.Env)) {
		args = append(args, "--env", name+"="+p.server.Env[name])
	}
	cmd := exec.Command("bossman", append(append(args, "--", p.server.Command), p.server.Args...)...)
	cmd.Stdin, cmd.Stderr = strings.NewReader(string(p.move.Input)), os.Stderr
	out, err := cmd.Output()
	return string(out), err
}

// count makes what a session has used in the recording what this one has.
func (p *player) count(frame map[string]any) {
	used := func(v any, names ...string) {
		m, _ := v.(map[string]any)
		for _, name := range names {
			if n, ok := m[name].(float64); ok && p.scale > 0 {
				m[name] = n * float64(p.answers) / float64(p.scale)
			}
		}
	}
	used(frame, "total_cost_usd")
	models, _ := frame["modelUsage"].(map[string]any)
	for _, m := range models {
		used(m, "inputTokens", "outputTokens", "costUSD")
	}
	used(field(frame, "params", "tokenUsage", "total"), "totalTokens", "inputTokens", "outputTokens")
}
