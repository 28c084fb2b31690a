package agent

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// What is read of the messages of the Agent Client Protocol, as its published schema for version 1
// has them.

// acpInitialized is the result of initialize.
type acpInitialized struct {
	Version      int `json:"protocolVersion"`
	Capabilities struct {
		Load bool `json:"loadSession"`
	} `json:"agentCapabilities"`
}

// acpBegun is the result of session/new, and without the session that of session/load.
type acpBegun struct {
	SessionID string `json:"sessionId"`
	Options   []struct {
		Category string         `json:"category"`
		Current  jsontext.Value `json:"currentValue"`
	} `json:"configOptions"`
}

// model is the model that the session uses, if the agent tells.
func (b acpBegun) model() (model string) {
	for _, o := range b.Options {
		if o.Category == "model" {
			_ = json.Unmarshal(o.Current, &model)
		}
	}
	return model
}

// acpTurn is the result of session/prompt. Usage, that of the turn, is not in the schema yet.
type acpTurn struct {
	Reason string `json:"stopReason"`
	Usage  struct {
		In         int64 `json:"inputTokens"`
		CacheRead  int64 `json:"cachedReadTokens"`
		CacheWrite int64 `json:"cachedWriteTokens"`
		Out        int64 `json:"outputTokens"`
	} `json:"usage"`
}

// add adds what the turn has used.
func (t acpTurn) add(u *Usage) {
	u.In += t.Usage.In + t.Usage.CacheRead + t.Usage.CacheWrite
	u.Cached += t.Usage.CacheRead
	u.Out += t.Usage.Out
}

// limited reports whether an agent says that the limit of its account is reached.
func (f *rpcFault) limited() bool {
	return f.Code == 429 || f.kind() == "rate_limit"
}

// acpNoLogin is the code for an agent that nobody has logged in.
const acpNoLogin = -32000

// denied reports whether an agent says that its key is not accepted.
func (f *rpcFault) denied() bool {
	return f.Code == acpNoLogin || f.Code == 401 || f.Code == 403 || f.kind() == "authentication_failed"
}

// kind is what the adapter of Claude Code tells about a fault.
func (f *rpcFault) kind() string {
	var data struct {
		Kind string `json:"errorKind"`
	}
	_ = json.Unmarshal(f.Data, &data)
	return data.Kind
}

// acpUpdate is what is read of session/update.
type acpUpdate struct {
	acpCall
	Update  string `json:"sessionUpdate"`
	Message string `json:"messageId"`
	Status  string `json:"status"`
	// Cost is that of the session so far.
	Cost struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	} `json:"cost"`
}

// readUpdate reads the parameters of session/update.
func readUpdate(params jsontext.Value) (u acpUpdate, ok bool) {
	var p struct {
		Update acpUpdate `json:"update"`
	}
	err := json.Unmarshal(params, &p)
	p.Update.Title = cut(p.Update.Title, maxLine)
	return p.Update, err == nil
}

// message reports whether it is a part of what the agent says.
func (u acpUpdate) message() bool { return u.Update == "agent_message_chunk" }

// work reports whether another update is a sign of work: a thought, a plan, the end of a call, a
// count of tokens. News of a call that goes on is none.
func (u acpUpdate) work() bool {
	switch u.Update {
	case "agent_thought_chunk", "plan", "usage_update":
		return true
	case "tool_call_update":
		return u.over()
	}
	return false
}

// over reports whether it is about the end of a call.
func (u acpUpdate) over() bool { return u.Status == "completed" || u.Status == "failed" }

// text is the text of a part of a message.
func (u acpUpdate) text() string {
	var c struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	_ = json.Unmarshal(u.Content, &c)
	return c.Text
}

// acpMessage is a message that comes in parts. The end of a long one is kept.
type acpMessage struct {
	id   string
	text string
}

// add adds a part, and reports whether it belongs to the message.
func (m *acpMessage) add(u acpUpdate) bool {
	if m.text != "" && u.Message != m.id {
		return false
	}
	m.id = u.Message
	m.text += u.text()
	if over := len(m.text) - maxLine; over > 0 {
		m.text = strings.ToValidUTF8(m.text[over:], "")
	}
	return true
}

// take returns the message and begins another one.
func (m *acpMessage) take() string {
	text := strings.TrimSpace(m.text)
	*m = acpMessage{}
	return text
}

// cut shortens a text.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// acpCall is what is read of a call of a tool, in updates and in requests.
type acpCall struct {
	ID      string         `json:"toolCallId"`
	Title   string         `json:"title"`
	Name    string         `json:"name"`
	Kind    string         `json:"kind"`
	Input   jsontext.Value `json:"rawInput"`
	Content jsontext.Value `json:"content"`
}

// then is the call with what was told about it later. That it is a command stays, and so do its
// arguments until there are others that say what it does.
func (c acpCall) then(later acpCall) acpCall {
	if c.Kind == "execute" {
		later.Kind = c.Kind
	}
	later.Title, later.Name, later.Kind = cmp.Or(later.Title, c.Title), cmp.Or(later.Name, c.Name), cmp.Or(later.Kind, c.Kind)
	if isEmpty(later.Content) {
		later.Content = c.Content
	}
	input := c.input()
	switch {
	case isEmpty(later.Input):
		later.Input = c.Input
	case input != nil && later.input() != nil && !later.does():
		maps.Copy(input, later.input())
		later.Input, _ = json.Marshal(input, json.Deterministic(true))
	}
	return later
}

// acpDoes are the names of arguments that say what a command or the like does; others only say where
// or why.
var acpDoes = []string{"command", "cmd", "script", "arguments"}

// does reports whether the arguments say what a command does.
func (c acpCall) does() bool {
	input := c.input()
	return slices.ContainsFunc(acpDoes, func(name string) bool { return !isEmpty(input[name]) })
}

// input are the arguments of the call, nil if the agent does not tell them.
func (c acpCall) input() (input map[string]jsontext.Value) {
	_ = json.Unmarshal(c.Input, &input)
	return input
}

// size is how much is kept of it.
func (c acpCall) size() int { return len(c.Title) + len(c.Name) + len(c.Input) + len(c.Content) }

// isEmpty reports whether a value says nothing.
func isEmpty(value jsontext.Value) bool {
	switch strings.TrimSpace(string(value)) {
	case "", "null", `""`, "[]", "{}":
		return true
	}
	return false
}

// acpPermission is what is read of session/request_permission.
type acpPermission struct {
	Call    acpCall `json:"toolCall"`
	Options []struct {
		ID   string `json:"optionId"`
		Kind string `json:"kind"`
	} `json:"options"`

	shell string // acpAgent.shell
}

// readPermission reads the parameters of session/request_permission, with what was told about calls
// before. One that does not say what it is about is none.
func readPermission(params jsontext.Value, calls notes[acpCall]) (p acpPermission, ok bool) {
	err := json.Unmarshal(params, &p)
	p.Call = calls[p.Call.ID].then(p.Call)
	return p, err == nil && p.use() != ""
}

// vague reports whether nobody can tell what would be done. titled says that the agent's titles are
// the commands themselves.
func (p acpPermission) vague(titled bool) bool {
	switch {
	case titled && p.Call.Title != "":
		return false
	case p.Call.Kind == "execute":
		return !p.Call.does()
	}
	return len(p.Call.input()) == 0 && len(p.shown()) == 0
}

// acpTools are how people are told what an agent wants to use, by its kind.
var acpTools = map[string]string{
	"read": "a tool that reads", "edit": "a change of files", "delete": "a deletion of files", "move": "a move of files",
	"search": "a search", "execute": "a command", "fetch": "the network",
}

// tool is what it wants to use.
func (p acpPermission) tool() string {
	_, command := p.command()
	switch {
	case p.Call.Name != "":
		return cut(p.Call.Name, maxLine)
	case command:
		return acpTools["execute"]
	case acpTools[p.Call.Kind] != "":
		return acpTools[p.Call.Kind]
	}
	return "a tool"
}

// command is the command that would run, if it is one.
func (p acpPermission) command() (command string, ok bool) {
	ok = json.Unmarshal(p.Call.input()["command"], &command) == nil
	return command, ok
}

// acpDirs are the names of arguments that say where a command runs.
var acpDirs = []string{"cwd", "workdir", "directory", "dir_path"}

// dir is the directory in which a command would run, empty if the agent does not tell or it is the worktree.
func (p acpPermission) dir(worktree string) (dir string) {
	if !p.Call.does() {
		return ""
	}
	input := p.Call.input()
	for _, name := range acpDirs {
		if json.Unmarshal(input[name], &dir) == nil && dir != "" && dir != worktree {
			return dir
		}
	}
	return ""
}

// use is what for: the command or the title, and the rest of the arguments, or what the agent shows
// instead of them.
func (p acpPermission) use() string {
	lines, input := []string{p.Call.Title}, p.Call.input()
	if len(input) == 0 {
		lines = append(lines, p.shown()...)
	}
	if command, ok := p.command(); ok {
		lines[0] = command
		delete(input, "command")
	}
	if p.words() != "" {
		delete(input, "description")
	}
	if len(input) > 0 {
		if rest, err := json.Marshal(input, json.Deterministic(true)); err == nil {
			lines = append(lines, string(rest))
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// words are what the agent says about a command of its own shell. What other tools do with such an argument is not known.
func (p acpPermission) words() (words string) {
	if p.shell == "" || p.Call.Name != p.shell {
		return ""
	}
	_ = json.Unmarshal(p.Call.input()["description"], &words)
	return words
}

// shown is what the agent shows of the call: texts, and files as they would be.
func (p acpPermission) shown() (lines []string) {
	if !isEmpty(p.Call.Input) {
		lines = append(lines, string(p.Call.Input))
	}
	var content []struct {
		Content struct {
			Text string `json:"text"`
		} `json:"content"`
		Path string `json:"path"`
		New  string `json:"newText"`
	}
	_ = json.Unmarshal(p.Call.Content, &content)
	for _, c := range content {
		for _, text := range []string{c.Content.Text, c.Path, c.New} {
			if text != "" {
				lines = append(lines, text)
			}
		}
	}
	return lines
}

// acpCancelled is the answer to a request that nobody decides.
var acpCancelled = map[string]any{"outcome": map[string]any{"outcome": "cancelled"}}

// outcome is the answer. Nothing is allowed or refused for longer than this once: agents keep
// that in different places, and for different times.
func (p acpPermission) outcome(d Decision) any {
	kind := "allow_once"
	if d == No {
		kind = "reject_once"
	}
	for _, o := range p.Options {
		if o.Kind == kind {
			return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": o.ID}}
		}
	}
	return acpCancelled
}
