package agent

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/internal/visible"
	"github.com/bossman-dev/bossman/proc"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ClaudeOptions are how Claude Code is started.
type ClaudeOptions struct {
	// Path is the program, or empty for the claude in the PATH.
	Path string
	// Join is the command line of its MCP server, which speaks to the runner.
	Join []string
	// Mode is its permission mode, acceptEdits if it is empty.
	Mode string
	// Project lets it use the settings, hooks and MCP servers of the repository.
	Project bool
}

// Claude returns Claude Code, which has to be there. It is spoken to in JSON on its standard
// input and output.
func Claude(o ClaudeOptions) (Agent, error) {
	path, err := exec.LookPath(cmp.Or(o.Path, "claude"))
	o.Path = path
	return &claude{o}, err
}

type claude struct{ o ClaudeOptions }

func (c *claude) Name() string { return "claude" }

func (c *claude) Tools() bool { return true }

func (c *claude) Prices() bool { return true }

// claudeVariables are those of a Claude Code above this one, which must not take it for a part
// of itself.
var claudeVariables = []string{"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_EXECPATH", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_CHILD_SESSION", "AI_AGENT"}

// mcpTimeout is how long a call of a tool may take: a report waits for its check.
const mcpTimeout = 2 * time.Hour

// claudeAllowed is what Claude Code may do without asking, beside what its settings allow. Other
// commands of Bossman can run programs.
const claudeAllowed = "mcp__bossman,Bash(bossman done:*),Bash(bossman fail:*),Bash(bossman note:*),Bash(bossman ask:*)"

func (c *claude) Start(j Job) (Session, error) {
	servers, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"bossman": map[string]any{
		"command": proc.Program(c.o.Join[0]), "args": c.o.Join[1:], "timeout": mcpTimeout.Milliseconds(),
	}}}, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	args := []string{
		"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--permission-mode", cmp.Or(c.o.Mode, "acceptEdits"), "--permission-prompt-tool", "stdio",
		"--allowedTools", claudeAllowed, "--disallowedTools", "AskUserQuestion", "--mcp-config", string(servers),
	}
	if isUUID.MatchString(j.Session) {
		args = append(args, "--resume", j.Session)
	} else {
		args = append(args, "--session-id", newUUID())
	}
	if j.MaxCost > 0 { // of this run, also if it goes on with a session
		args = append(args, "--max-budget-usd", strconv.FormatFloat(j.MaxCost, 'f', -1, 64))
	}
	if !c.o.Project {
		args = append(args, "--setting-sources", "user", "--strict-mcp-config")
	}
	cmd := exec.Command(c.o.Path, args...)
	cmd.Dir, cmd.Env = j.Dir, withoutClaude(j.Env)
	st, err := startStream(cmd, j)
	if err != nil {
		return nil, err
	}
	s := &claudeSession{stream: st, used: j.Used, counted: map[string]bool{}}
	s.Tell(j.Prompt)
	go st.watch(func(line []byte) {
		var e claudeEvent
		if json.Unmarshal(line, &e) == nil {
			s.take(e)
		}
	})
	return s, nil
}

// withoutClaude is an environment without claudeVariables.
func withoutClaude(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(claudeVariables, name)
	})
}

var isUUID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// newUUID returns a random UUID of version 4.
func newUUID() string {
	b := make([]byte, 16)
	rand.Read(b)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// A claudeSession is Claude Code at work.
type claudeSession struct {
	*stream
	until time.Time // when the limit of usage ends that was told last
	// used is what the session has used. What a turn has used is known at its end; until then it is
	// what its messages tell, which are counted once.
	used    Usage
	counted map[string]bool
}

// Tell implements Session.
func (s *claudeSession) Tell(text string) bool {
	return s.send(map[string]any{
		"type": "user", "message": map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": text}}},
	})
}

// claudeEvent is what is read of a line.
type claudeEvent struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	SessionID string `json:"session_id"`
	Model     string `json:"model"`
	Message   struct {
		ID      string         `json:"id"`
		Content jsontext.Value `json:"content"`
		Usage   struct {
			In         int64 `json:"input_tokens"`
			Out        int64 `json:"output_tokens"`
			CacheRead  int64 `json:"cache_read_input_tokens"`
			CacheWrite int64 `json:"cache_creation_input_tokens"`
		} `json:"usage"`
	} `json:"message"`
	// Delay and Refusal are with api_retry: the status that it got, and when it tries again.
	Delay   int64 `json:"retry_delay_ms"`
	Refusal int   `json:"error_status"`
	Limit   struct {
		Status   string `json:"status"`
		ResetsAt int64  `json:"resetsAt"`
	} `json:"rate_limit_info"`
	RequestID string `json:"request_id"`
	Request   struct {
		Subtype string `json:"subtype"`
		Tool    string `json:"tool_name"`
		// Input is handed back as it came, and so are the suggestions, but for where they hold.
		Input       jsontext.Value   `json:"input"`
		Suggestions []jsontext.Value `json:"permission_suggestions"`
	} `json:"request"`
	IsError bool   `json:"is_error"`
	Result  string `json:"result"`
	Status  int    `json:"api_error_status"`
	// Cost and Usage, by model, are of the whole session.
	Cost  *float64 `json:"total_cost_usd"`
	Usage map[string]struct {
		In         int64 `json:"inputTokens"`
		Out        int64 `json:"outputTokens"`
		CacheRead  int64 `json:"cacheReadInputTokens"`
		CacheWrite int64 `json:"cacheCreationInputTokens"`
	} `json:"modelUsage"`
	// Turns and Errors say why nothing came of it, if nothing did.
	Turns  *int     `json:"num_turns"`
	Errors []string `json:"errors"`
}

// take passes on what a line says.
func (s *claudeSession) take(e claudeEvent) {
	switch e.Type {
	case "system":
		switch {
		case e.Subtype == "init":
			s.events <- Event{Kind: Started, Session: e.SessionID, Model: e.Model}
		case e.Subtype == "api_retry" && (e.Refusal == 429 || e.Refusal == 529): // a limit, or too much to do
			s.events <- Event{Kind: Waits, Until: time.Now().Add(time.Duration(e.Delay) * time.Millisecond)}
		}
	case "assistant", "user":
		parts := claudeParts(e.Message.Content)
		told := said(parts)
		told.Usage = s.count(e)
		s.say(told.Whole())
		s.follow(parts)
		s.tell(told)
	case "rate_limit_event":
		if e.Limit.Status == "rejected" {
			s.until = time.Unix(e.Limit.ResetsAt, 0)
		}
	case "control_request":
		if e.Request.Subtype == "can_use_tool" {
			s.tell(Event{Kind: Asks, Permission: s.permission(e)})
		}
	case "result":
		s.turned(s.turn(e))
	}
}

// A claudePart is a part of the content of a message.
type claudePart struct {
	Type  string         `json:"type"`
	Text  string         `json:"text"`
	ID    string         `json:"id"`
	Name  string         `json:"name"`
	Input jsontext.Value `json:"input"`
	Call  string         `json:"tool_use_id"`
}

// claudeParts are the parts of a content that can be read; a plain text has none.
func claudeParts(content jsontext.Value) (parts []claudePart) {
	var list []jsontext.Value
	if json.Unmarshal(content, &list) != nil {
		return nil
	}
	for _, v := range list {
		var p claudePart
		if json.Unmarshal(v, &p) == nil {
			parts = append(parts, p)
		}
	}
	return parts
}

// follow notes which calls a message begins, and which it has the results of.
func (s *claudeSession) follow(parts []claudePart) {
	for _, p := range parts {
		switch {
		case p.Type == "tool_use" && p.ID != "":
			s.beginCall(p.ID)
		case p.Type == "tool_result":
			s.endCall(p.Call)
		}
	}
}

// count counts what a message has used, and returns what the session has, nil if that is not new.
func (s *claudeSession) count(e claudeEvent) *Usage {
	if e.Type != "assistant" || e.Message.ID == "" || s.counted[e.Message.ID] {
		return nil
	}
	s.counted[e.Message.ID] = true
	u := e.Message.Usage
	s.used.In += u.In + u.CacheRead + u.CacheWrite
	s.used.Cached += u.CacheRead
	s.used.Out += u.Out
	return new(s.used)
}

// claudeShell is the tool of Claude Code itself that runs commands. It shows its argument description to people, and does nothing with it. What
// other tools do with theirs is not known.
const claudeShell = "Bash"

// permission is what a request asks for. What is allowed for the task is what Claude Code
// suggests to allow from then on.
func (s *claudeSession) permission(e claudeEvent) *Permission {
	p := &Permission{Tool: e.Request.Tool, Rules: claudeRules(e.Request.Suggestions)}
	if len(e.Request.Input) == 0 {
		e.Request.Input = jsontext.Value("{}")
	}
	input, ok := members(e.Request.Input)
	if !ok {
		p.Use = string(e.Request.Input)
	}
	if command, ok := text(input["command"]); ok {
		p.Use = command
		delete(input, "command")
	}
	if words, ok := text(input["description"]); ok && p.Tool == claudeShell {
		p.Words = words
		delete(input, "description")
	}
	if len(input) > 0 {
		if text, err := json.Marshal(input, json.Deterministic(true)); err == nil {
			p.Use = strings.TrimSpace(p.Use + "\n" + string(text))
		}
	}
	p.Answer = func(d Decision, note string) {
		answer := map[string]any{"behavior": "allow", "updatedInput": e.Request.Input}
		switch d {
		case No:
			answer = map[string]any{"behavior": "deny", "message": note}
		case ForTask:
			rules := []any{}
			for _, v := range e.Request.Suggestions {
				if rule, ok := members(v); ok {
					rule["destination"] = jsontext.Value(`"session"`)
					rules = append(rules, rule)
				}
			}
			answer["updatedPermissions"] = rules
		}
		s.send(map[string]any{"type": "control_response", "response": map[string]any{"subtype": "success", "request_id": e.RequestID, "response": answer}})
	}
	return p
}

// claudeRules are the rules that Claude Code suggests, as its settings have them: Bash(git push:*).
func claudeRules(suggestions []jsontext.Value) (rules []string) {
	for _, s := range suggestions {
		var list []struct {
			Tool    string `json:"toolName"`
			Content string `json:"ruleContent"`
		}
		m, ok := members(s)
		if !ok || json.Unmarshal(m["rules"], &list) != nil { // a mode, a directory
			var all any = s
			if ok {
				all = m
			}
			if text, err := json.Marshal(all, json.Deterministic(true)); err == nil {
				rules = append(rules, string(text))
			}
			continue
		}
		for _, r := range list {
			if r.Content != "" {
				r.Tool += "(" + r.Content + ")"
			}
			rules = append(rules, r.Tool)
		}
	}
	return rules
}

// members are those of an object, each as it came.
func members(v jsontext.Value) (m map[string]jsontext.Value, ok bool) {
	return m, v.Kind() == '{' && json.Unmarshal(v, &m) == nil
}

// text is the text that a value is.
func text(v jsontext.Value) (s string, ok bool) {
	return s, v.Kind() == '"' && json.Unmarshal(v, &s) == nil
}

// turn is the event for the end of a turn.
func (s *claudeSession) turn(e claudeEvent) Event {
	if len(e.Usage) > 0 {
		s.used.In, s.used.Cached, s.used.Out = 0, 0, 0
	}
	for _, m := range e.Usage {
		s.used.In += m.In + m.CacheRead + m.CacheWrite
		s.used.Cached += m.CacheRead
		s.used.Out += m.Out
	}
	if e.Cost != nil {
		s.used.Cost, s.used.Priced = *e.Cost, true
	}
	t := Event{Kind: Turn, Text: e.Result, Usage: new(s.used)}
	s.say(e.Result)
	switch {
	case !e.IsError:
	case e.Status == 429 || !s.until.IsZero():
		t.Fault, t.Until = Limited, s.until
	case e.Status == 401 || e.Status == 403 || e.Status == 404:
		t.Fault = Unusable
	case e.Turns != nil && *e.Turns == 0: // for example, it has a session no more
		t.Fault, t.Text = Unusable, cut(strings.Join(e.Errors, "\n"), maxLine)
	}
	return t
}

// said is what a message says: its texts, and the tools that it calls.
func said(parts []claudePart) Event {
	e := Event{Kind: Activity}
	var texts []string
	for _, p := range parts {
		switch {
		case p.Type == "text" && p.Text != "":
			texts = append(texts, p.Text)
		case p.Type == "tool_use":
			e.Did = append(e.Did, calls(p.Name, p.Input))
		}
	}
	e.Text = strings.Join(texts, "\n")
	return e
}

// reports are the tools of the board that agents call to tell something, with what that is called
// and the argument that has it.
var reports = map[string][2]string{
	"report_progress": {"notes", "note"}, "report_task_done": {"reports done", "summary"},
	"report_task_failed": {"reports failed", "reason"}, "ask_question": {"asks", "question"},
}

// calls says which tool is called, and for what: a command, a file, what the board is told, or its
// arguments in JSON.
func calls(tool string, arguments jsontext.Value) string {
	input, _ := members(arguments)
	tool = visible.Line(strings.TrimPrefix(tool, "mcp__bossman__")) // as Claude Code names the tools of the board
	if r, ok := reports[tool]; ok {
		if s, _ := text(input[r[1]]); s != "" {
			return r[0] + ": " + s
		}
	}
	for _, name := range []string{"command", "file_path", "path", "pattern"} {
		if s, _ := text(input[name]); s != "" {
			return "calls " + tool + ": " + s
		}
	}
	if text, err := json.Marshal(input, json.Deterministic(true)); err == nil && len(input) > 0 {
		return "calls " + tool + ": " + string(text)
	}
	return "calls " + tool
}
