package agent

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/proc"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// acpAgent is a program that speaks the Agent Client Protocol, version 1, on its standard input
// and output.
type acpAgent struct {
	name    string
	command []string
	// mode is the session mode in which it edits files in the worktree without asking, and asks
	// about the rest; empty leaves it as it is.
	mode string
	// meta is what only this agent understands, for a new session.
	meta func(project bool) map[string]any
	// titled is set if the title of a call says what it does: the command itself.
	titled bool
	// shell is the name of its own tool that runs commands, if it shows the argument description to people, and does nothing with it.
	shell string
	// reads are files of a repository with which it runs programs, or sends its key elsewhere,
	// before a model has read a word, or without asking. It cannot be told to leave them alone.
	reads []string
	// above are files that it also reads in all directories above.
	above []string
}

// acpAgents are those that have a name here.
var acpAgents = []acpAgent{
	{
		name: "gemini", mode: "autoEdit", titled: true, reads: []string{".gemini", ".env"}, above: []string{".gemini/.env", ".env"},
		// In a directory that it does not trust it uses no MCP server.
		command: []string{"gemini", "--acp", "--skip-trust", "--allowed-mcp-server-names", "bossman", "--allowed-tools", "mcp_bossman_*"},
	},
	{name: "opencode", command: []string{"opencode", "acp"}, reads: []string{".opencode", "opencode.json", "opencode.jsonc"}},
	{
		name: "copilot",
		reads: []string{
			".github/copilot", ".github/hooks", ".github/mcp.json", ".mcp.json", ".vscode/mcp.json", ".github/lsp.json", ".lsp.json", "lsp.json",
			".github/extensions", ".github/agents", ".claude/agents", ".claude/settings.json", ".claude/settings.local.json",
		},
		command: []string{"copilot", "--acp", "--allow-tool=bossman", "--allow-tool=write"},
	},
	{name: "claude-acp", shell: claudeShell, command: []string{"claude-agent-acp"}, mode: "acceptEdits", meta: claudeMeta},
	{name: "codex-acp", command: []string{"codex-acp"}, mode: "workspace-write", reads: []string{".codex"}},
}

// claudeMeta are the options of Claude Code behind its adapter.
func claudeMeta(project bool) map[string]any {
	options := map[string]any{"allowedTools": strings.Split(claudeAllowed, ","), "allowDangerouslySkipPermissions": false}
	if !project {
		options["settingSources"], options["strictMcpConfig"] = []string{"user"}, true
	}
	return map[string]any{"claudeCode": map[string]any{"options": options}}
}

// ACPNames returns the names of the agents that ACP knows.
func ACPNames() (names []string) {
	for _, a := range acpAgents {
		names = append(names, a.name)
	}
	return names
}

// ACPOptions are how an agent is started that speaks the Agent Client Protocol.
type ACPOptions struct {
	// Name is one of ACPNames, or empty for any other agent.
	Name string
	// Command is its command line, or nil for that of the name.
	Command []string
	// Join is the command line of its MCP server, which speaks to the runner.
	Join []string
	// Project lets it use the settings of the repository.
	Project bool
}

// ACP returns an agent that speaks the Agent Client Protocol, which has to be there.
func ACP(o ACPOptions) (Agent, error) {
	var a acp
	for _, known := range acpAgents {
		if known.name == o.Name {
			a.acpAgent = known
		}
	}
	if o.Command == nil {
		o.Command = a.command
	}
	if a.name == "" {
		a.name = filepath.Base(o.Command[0])
	}
	var err error
	o.Command, err = FindCommand(o.Command)
	a.o = o
	return &a, err
}

type acp struct {
	acpAgent
	o ACPOptions
}

func (a *acp) Name() string { return a.name }

func (a *acp) Tools() bool { return true }

func (a *acp) Prices() bool { return true } // some do

func (a *acp) Start(j Job) (Session, error) {
	if what := a.found(j.Dir); what != "" && !a.o.Project {
		return nil, fmt.Errorf("%s, with which %s can run programs of the repository or send its key elsewhere; --project-settings accepts that", what, a.name)
	}
	cmd := exec.Command(a.o.Command[0], a.o.Command[1:]...)
	cmd.Dir, cmd.Env = j.Dir, withoutClaude(j.Env)
	st, err := startStream(cmd, j)
	if err != nil {
		return nil, err
	}
	s := &acpSession{rpc: newRPC(st, "2.0"), agent: a, job: j, asked: map[*acpAsked]bool{}}
	s.rpc.request, s.rpc.notice = s.request, s.notice
	s.call("initialize", map[string]any{
		"protocolVersion": acpVersion, "clientInfo": map[string]any{"name": "bossman", "title": "Bossman", "version": "1"},
		"clientCapabilities": map[string]any{"fs": map[string]any{"readTextFile": false, "writeTextFile": false}, "terminal": false},
	}, s.initialized)
	go st.watch(s.take)
	return s, nil
}

// found says which of the files is there that the agent reads in a worktree, or above it: whole
// directories may have come in an archive. It is empty if there is none.
func (a *acp) found(dir string) string {
	for _, name := range a.reads {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return "the repository has " + name
		}
	}
	var own os.FileInfo // what is in the home, is the user's own
	if home, err := os.UserHomeDir(); err == nil {
		own, _ = os.Stat(home)
	}
	for up := filepath.Dir(dir); len(a.above) > 0; up = filepath.Dir(up) {
		for _, name := range a.above {
			if _, err := os.Lstat(filepath.Join(up, name)); err != nil {
				continue
			}
			if at, _ := os.Stat(up); !os.SameFile(at, own) {
				return fmt.Sprintf("there is %q", filepath.Join(up, name))
			}
		}
		if up == filepath.Dir(up) {
			break
		}
	}
	return ""
}

// acpVersion is the version of the protocol.
const acpVersion = 1

// An acpSession is an agent at work that speaks ACP.
type acpSession struct {
	*rpc
	agent   *acp
	job     Job
	session string
	// began is set at the first sign of work, and said is the message that is being said.
	began bool
	said  acpMessage
	calls notes[acpCall]
	// used is what the session has used so far.
	used Usage

	turns sync.Mutex // holds what follows
	over  chan struct{}
	// notes are what people said when they refused something: an answer has no place for words.
	notes []string
	asked map[*acpAsked]bool
}

// initialized begins a session, or goes on with one.
func (s *acpSession) initialized(result jsontext.Value, fault *rpcFault) {
	var r acpInitialized
	if fault == nil && (json.Unmarshal(result, &r) != nil || r.Version != acpVersion) {
		fault = &rpcFault{Message: fmt.Sprintf("%s does not speak version %d of the Agent Client Protocol", s.agent.name, acpVersion)}
	}
	if fault != nil {
		s.unusable(fault.String())
		return
	}
	env := []map[string]any{}
	for name, value := range joinEnv(s.job.Env) {
		env = append(env, map[string]any{"name": name, "value": value})
	}
	join := s.agent.o.Join
	params := map[string]any{
		"cwd":        s.job.Dir,
		"mcpServers": []any{map[string]any{"name": "bossman", "command": proc.Program(join[0]), "args": join[1:], "env": env}},
	}
	if s.agent.meta != nil {
		params["_meta"] = s.agent.meta(s.agent.o.Project)
	}
	if s.job.Session == "" || !r.Capabilities.Load {
		s.call("session/new", params, s.begun)
		return
	}
	again := maps.Clone(params)
	again["sessionId"] = s.job.Session
	s.call("session/load", again, func(result jsontext.Value, fault *rpcFault) {
		if fault != nil { // it has that session no more
			s.call("session/new", params, s.begun)
			return
		}
		var b acpBegun
		_ = json.Unmarshal(result, &b) // null is allowed
		b.SessionID = s.job.Session
		s.ready(b)
	})
}

// begun takes a new session.
func (s *acpSession) begun(result jsontext.Value, fault *rpcFault) {
	var r acpBegun
	if fault == nil && (json.Unmarshal(result, &r) != nil || r.SessionID == "") {
		fault = &rpcFault{Message: s.agent.name + " began no session"}
	}
	if fault != nil {
		s.unusable(fault.String())
		return
	}
	s.ready(r)
}

// ready sets the mode of the session, and tells it its task.
func (s *acpSession) ready(r acpBegun) {
	s.session = r.SessionID
	if s.session == s.job.Session {
		s.used = s.job.Used
	}
	s.events <- Event{Kind: Started, Session: r.SessionID, Model: r.model()}
	if s.agent.mode == "" {
		s.Tell(s.job.Prompt)
		return
	}
	s.call("session/set_mode", map[string]any{"sessionId": s.session, "modeId": s.agent.mode}, func(_ jsontext.Value, fault *rpcFault) {
		if fault != nil {
			s.unusable(fmt.Sprintf("its mode could not be set to %s: %s", s.agent.mode, fault))
			return
		}
		s.Tell(s.job.Prompt)
	})
}

// Tell implements Session. What people said in the last turn comes first.
func (s *acpSession) Tell(text string) bool {
	over := make(chan struct{})
	s.turns.Lock()
	text = strings.Join(append(s.notes, text), "\n")
	s.notes, s.over = nil, over
	s.turns.Unlock()
	return s.call("session/prompt", map[string]any{
		"sessionId": s.session, "prompt": []any{map[string]any{"type": "text", "text": text}},
	}, func(result jsontext.Value, fault *rpcFault) {
		s.turns.Lock()
		s.over = nil
		refused := len(s.notes) > 0
		s.turns.Unlock()
		close(over)
		t := s.turn(result, fault)
		t.Refused = refused
		s.turned(t)
	})
}

// turn is the event for the end of a turn.
func (s *acpSession) turn(result jsontext.Value, fault *rpcFault) Event {
	s.flush()
	if fault != nil {
		s.say(fault.String())
		t := Event{Kind: Turn, Text: fault.String()}
		switch {
		case fault.limited():
			t.Fault = Limited
		case fault.denied() || !s.began: // it could not do anything
			t.Fault = Unusable
		}
		return t
	}
	var r acpTurn
	_ = json.Unmarshal(result, &r)
	r.add(&s.used)
	if r.Reason != "end_turn" {
		s.say("it stopped: " + r.Reason)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return Event{Kind: Turn, Text: s.last, Usage: s.usage()}
}

const (
	// cancelTime is how long an agent has to cancel its turn before it is ended.
	cancelTime = time.Second
	// finishTime is how long it has to end when it gets no more input. Not all do that.
	finishTime = 2 * time.Second
)

// Finish implements Session.
func (s *acpSession) Finish() {
	s.stream.Finish()
	go func() {
		select {
		case <-s.minded.Done():
		case <-time.After(finishTime):
			s.parted.Store(true)
			s.stream.End()
		}
	}()
}

// End implements Session. An agent that works is told to stop first, so that what it keeps of
// the session is whole.
func (s *acpSession) End() {
	s.turns.Lock()
	over := s.over
	open := slices.Collect(maps.Keys(s.asked))
	s.turns.Unlock()
	if over != nil {
		go func() {
			s.post(map[string]any{"method": "session/cancel", "params": map[string]any{"sessionId": s.session}})
			for _, a := range open {
				a.answer(acpCancelled)
			}
		}()
		select {
		case <-over:
		case <-s.minded.Done():
		case <-time.After(cancelTime):
		}
	}
	s.stream.End()
}

// working reports whether a turn is under way.
func (s *acpSession) working() bool {
	s.turns.Lock()
	defer s.turns.Unlock()
	return s.over != nil
}

// notice passes on an update. What comes outside of a turn is none of the task's.
func (s *acpSession) notice(m rpcMessage) {
	if m.Method != "session/update" || !s.working() {
		return
	}
	u, ok := readUpdate(m.Params)
	if !ok {
		return
	}
	s.keep(u)
	switch {
	case u.over():
		s.endCall(u.ID)
	case u.Update == "tool_call":
		s.beginCall(u.ID)
	}
	switch {
	case u.message():
		if !s.said.add(u) {
			s.flush()
			s.said.add(u)
		}
		s.work("")
	case u.Update == "tool_call":
		s.flush()
		s.work("", "calls "+u.Title)
	case u.work():
		if u.Cost.Currency == "USD" {
			s.used.Cost, s.used.Priced = u.Cost.Amount, true
		}
		s.work("")
	}
}

// keep notes what is told about a call until it is over.
func (s *acpSession) keep(u acpUpdate) {
	call := u.acpCall
	switch u.Update {
	case "tool_call":
	case "tool_call_update":
		call = s.calls[u.ID].then(call)
	default:
		return
	}
	if u.over() || call.size() > maxNote {
		delete(s.calls, u.ID)
		return
	}
	s.calls.note(u.ID, call)
}

// usage is what the session has used so far, nil if the agent does not tell.
func (s *acpSession) usage() *Usage {
	if s.used == (Usage{}) {
		return nil
	}
	used := s.used
	return &used
}

// work passes on a sign of work.
func (s *acpSession) work(text string, did ...string) {
	s.began = true
	told := Event{Kind: Activity, Text: text, Did: did, Usage: s.usage()}
	s.say(told.Whole())
	s.tell(told)
}

// flush passes on the message that was being said.
func (s *acpSession) flush() {
	if text := s.said.take(); text != "" {
		s.work(text)
	}
}

// request passes on what the agent asks to be allowed.
func (s *acpSession) request(m rpcMessage) {
	if m.Method != "session/request_permission" {
		s.refuse(m)
		return
	}
	p, ok := readPermission(m.Params, s.calls)
	if !ok {
		s.answer(m, acpCancelled)
		return
	}
	p.shell = s.agent.shell
	s.began = true
	s.beginCall(p.Call.ID) // some announce it in no other way
	a := &acpAsked{session: s, request: m}
	s.turns.Lock()
	s.asked[a] = true
	s.turns.Unlock()
	s.tell(Event{Kind: Asks, Permission: &Permission{Tool: p.tool(), Use: p.use(), Dir: p.dir(s.job.Dir), Words: p.words(), Vague: p.vague(s.agent.titled), Answer: func(d Decision, note string) {
		if d == No {
			s.endCall(p.Call.ID) // not all say so
			s.turns.Lock()
			s.notes = append(s.notes, note)
			s.turns.Unlock()
		}
		a.answer(p.outcome(d))
	}}})
}

// An acpAsked is a request for a permission that is not answered yet.
type acpAsked struct {
	session *acpSession
	request rpcMessage
}

// answer answers it, unless it is answered.
func (a *acpAsked) answer(outcome any) {
	s := a.session
	s.turns.Lock()
	open := s.asked[a]
	delete(s.asked, a)
	s.turns.Unlock()
	if open {
		s.rpc.answer(a.request, outcome)
	}
}
