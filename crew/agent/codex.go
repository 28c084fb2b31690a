package agent

import (
	"cmp"
	"fmt"
	"maps"
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

// CodexOptions are how Codex is started.
type CodexOptions struct {
	// Path is the program, or empty for the codex in the PATH.
	Path string
	// Join is the command line of its MCP server, which speaks to the runner.
	Join []string
	// Project lets it use the settings, hooks and MCP servers of the repository.
	Project bool
}

// Codex returns Codex, which has to be there. It is spoken to as its own editors speak to it:
// codex app-server.
func Codex(o CodexOptions) (Agent, error) {
	path, err := exec.LookPath(cmp.Or(o.Path, "codex"))
	o.Path = path
	return &codex{o: o}, err
}

type codex struct {
	o CodexOptions
	// starting is held by one that starts: several at once in a new home wait for each other
	// for ever.
	starting sync.Mutex
}

// codexStart is how long one that starts keeps others waiting.
const codexStart = time.Minute

func (c *codex) Name() string { return "codex" }

func (c *codex) Tools() bool { return true }

func (c *codex) Prices() bool { return false }

func (c *codex) Start(j Job) (Session, error) {
	trust, err := codexTrust(j, c.o.Project)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(c.o.Path, "-c", trust, "app-server")
	cmd.Dir, cmd.Env = j.Dir, j.Env
	c.starting.Lock()
	var once sync.Once
	started := func() { once.Do(c.starting.Unlock) }
	st, err := startStream(cmd, j)
	if err != nil {
		started()
		return nil, err
	}
	time.AfterFunc(codexStart, started)
	s := &codexSession{rpc: newRPC(st, ""), job: j, o: c.o, started: started} // it has no version
	s.rpc.request, s.rpc.notice = s.request, s.notice
	s.call("initialize", map[string]any{"clientInfo": map[string]any{"name": "bossman", "title": "Bossman", "version": "1"}}, s.initialized)
	go func() {
		st.watch(s.take)
		started()
	}()
	return s, nil
}

// codexTrust is the setting that says whether Codex uses what the repository of a job has for it.
// Codex looks a worktree up by its own directory and by that of its repository. Without a word
// about them it would note the repository as trusted, in the user's own configuration, and run its
// MCP servers.
func codexTrust(j Job, trusted bool) (string, error) {
	level := "untrusted"
	if trusted {
		level = "trusted"
	}
	var dirs []string
	for _, dir := range []string{j.Dir, j.Root} {
		dirs = append(dirs, dir)
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dirs = append(dirs, real)
		}
	}
	slices.Sort(dirs)
	var entries []string
	for _, dir := range slices.Compact(dirs) {
		key, err := jsontext.AppendQuote(nil, dir) // which TOML reads in the same way
		if err != nil {
			return "", fmt.Errorf("codex cannot work in %q: %w", dir, err)
		}
		entries = append(entries, fmt.Sprintf("%s={trust_level=%q}", key, level))
	}
	return "projects={" + strings.Join(entries, ",") + "}", nil
}

// A codexSession is Codex at work.
type codexSession struct {
	*rpc
	job     Job
	o       CodexOptions
	started func()

	thread  string
	turn    string    // the one that is under way; s.mu holds it
	until   time.Time // when the limit of usage ends that was told last
	patches notes[[]codexChange]
}

// initialized begins a thread, or goes on with one.
func (s *codexSession) initialized(_ jsontext.Value, fault *rpcFault) {
	if fault != nil {
		s.unusable(fault.String())
		return
	}
	s.post(map[string]any{"method": "initialized"})
	server := map[string]any{
		"command": proc.Program(s.o.Join[0]), "args": s.o.Join[1:], "env": joinEnv(s.job.Env), "tool_timeout_sec": int(mcpTimeout.Seconds()), "default_tools_approval_mode": "approve",
	}
	params := map[string]any{
		"cwd": s.job.Dir, "approvalPolicy": "on-request", "sandbox": "workspace-write",
		"config": map[string]any{"mcp_servers": map[string]any{"bossman": server}},
	}
	if s.job.Session == "" {
		s.call("thread/start", params, s.begun)
		return
	}
	again := maps.Clone(params)
	again["threadId"] = s.job.Session
	s.call("thread/resume", again, func(result jsontext.Value, fault *rpcFault) {
		if fault != nil { // it has that thread no more
			s.call("thread/start", params, s.begun)
			return
		}
		s.begun(result, nil)
	})
}

// begun gives the thread its task.
func (s *codexSession) begun(result jsontext.Value, fault *rpcFault) {
	var r struct {
		Thread struct {
			ID string `json:"id"`
		} `json:"thread"`
		Model string `json:"model"`
	}
	if fault == nil && (json.Unmarshal(result, &r) != nil || r.Thread.ID == "") {
		fault = &rpcFault{Message: "codex began no thread"}
	}
	if fault != nil {
		s.unusable(fault.String())
		return
	}
	s.thread = r.Thread.ID
	s.started()
	s.events <- Event{Kind: Started, Session: r.Thread.ID, Model: r.Model}
	s.Tell(s.job.Prompt)
}

// Tell implements Session.
func (s *codexSession) Tell(text string) bool {
	return s.call("turn/start", map[string]any{
		"threadId": s.thread, "input": []any{map[string]any{"type": "text", "text": text}},
	}, func(_ jsontext.Value, fault *rpcFault) {
		if fault != nil {
			s.unusable(fault.String())
		}
	})
}

// notice passes on a notification.
func (s *codexSession) notice(m rpcMessage) {
	var p struct {
		Item struct {
			ID      string `json:"id"`
			Type    string `json:"type"`
			Text    string `json:"text"`
			Command string `json:"command"`
			Tool    string `json:"tool"`

			Actions   []codexAction  `json:"commandActions"`
			Arguments jsontext.Value `json:"arguments"`
			Changes   []codexChange  `json:"changes"`
		} `json:"item"`
		ItemID  string        `json:"itemId"`
		Changes []codexChange `json:"changes"`
		Usage   struct {
			Total struct {
				In     int64 `json:"inputTokens"`
				Cached int64 `json:"cachedInputTokens"`
				Out    int64 `json:"outputTokens"`
			} `json:"total"`
		} `json:"tokenUsage"`
		Turn struct {
			ID     string `json:"id"`
			Status string `json:"status"`
			Error  struct {
				Message string `json:"message"`
				Info    any    `json:"codexErrorInfo"`
			} `json:"error"`
		} `json:"turn"`
		Limits struct {
			Primary struct {
				Used     float64 `json:"usedPercent"`
				ResetsAt int64   `json:"resetsAt"`
			} `json:"primary"`
		} `json:"rateLimits"`
	}
	unread := json.Unmarshal(m.Params, &p) != nil
	switch m.Method {
	case "turn/started":
		s.mu.Lock()
		s.turn = p.Turn.ID
		s.mu.Unlock()
	case "item/fileChange/patchUpdated":
		s.announce(p.ItemID, p.Changes, unread)
	case "item/started", "item/completed":
		s.announce(p.Item.ID, p.Item.Changes, unread || m.Method == "item/completed")
		var did []string
		text, call := p.Item.Text, p.Item.Command != "" || p.Item.Tool != "" // the model's own items are no calls
		switch {
		case p.Item.Type == "userMessage":
			return
		case call && m.Method == "item/completed": // it was told when it began; people may have refused it since
			text = ""
		case p.Item.Command != "":
			text, did = "", []string{"runs " + withoutShell(p.Item.Command, p.Item.Actions)}
		case p.Item.Tool != "":
			text, did = "", []string{calls(p.Item.Tool, p.Item.Arguments)}
		}
		if m.Method == "item/completed" {
			s.endCall(p.Item.ID)
		} else if call {
			s.beginCall(p.Item.ID)
		}
		told := Event{Kind: Activity, Text: text, Did: did}
		s.say(told.Whole())
		s.tell(told)
	case "thread/tokenUsage/updated":
		total := p.Usage.Total
		s.tell(Event{Kind: Activity, Usage: &Usage{In: total.In, Cached: total.Cached, Out: total.Out}})
	case "account/rateLimits/updated":
		if p.Limits.Primary.ResetsAt > 0 && p.Limits.Primary.Used >= 100 {
			s.until = time.Unix(p.Limits.Primary.ResetsAt, 0)
		}
	case "turn/completed":
		t := Event{Kind: Turn, Text: p.Turn.Error.Message}
		s.say(t.Text)
		if p.Turn.Status == "failed" {
			switch p.Turn.Error.Info {
			case "usageLimitExceeded", "rateLimitExceeded":
				t.Fault, t.Until = Limited, s.until
			case "unauthorized":
				t.Fault = Unusable
			}
		}
		s.turned(t)
	}
}

// A codexAction is a part of a command, as Codex understands it.
type codexAction struct {
	Command string `json:"command"`
}

// withoutShell is a command without the shell that Codex runs it in, if it is one action.
func withoutShell(command string, actions []codexAction) string {
	if len(actions) != 1 || actions[0].Command == "" {
		return command
	}
	const quotes = `'"`
	shell, ok := strings.CutSuffix(strings.TrimRight(command, quotes), strings.TrimRight(actions[0].Command, quotes))
	if !ok || !strings.HasSuffix(strings.TrimRight(shell, quotes), "c ") {
		return command
	}
	return actions[0].Command
}

// announce notes the changes of files that an item is going to make. If it is over, or could not be
// read, nothing is known of them any more.
func (s *codexSession) announce(item string, changes []codexChange, over bool) {
	if over || len(changes) == 0 {
		delete(s.patches, item)
		return
	}
	for i := range changes {
		changes[i].Diff = cut(changes[i].Diff, maxNote)
	}
	s.patches.note(item, changes)
}

// request answers a request, or passes it on.
func (s *codexSession) request(m rpcMessage) {
	switch m.Method {
	case "item/commandExecution/requestApproval":
		s.ask(m, codexCommand(m.Params, s.job.Dir))
	case "item/fileChange/requestApproval":
		var p struct {
			Item string `json:"itemId"`
		}
		_ = json.Unmarshal(m.Params, &p)
		s.ask(m, codexPatch(m.Params, s.patches[p.Item]))
	case "mcpServer/elicitation/request":
		s.answer(m, map[string]any{"action": "decline", "content": nil, "_meta": nil})
	default:
		s.refuse(m)
	}
}

// ask passes on what Codex asks to be allowed.
func (s *codexSession) ask(m rpcMessage, p *Permission) {
	p.Answer = func(d Decision, note string) {
		decide := func(decision string) { s.answer(m, map[string]any{"decision": decision}) }
		switch d {
		case ForTask:
			decide("acceptForSession")
		case No: // a decision has no place for words, and the model goes on as soon as it has that
			s.steer(note, func() { decide("decline") })
		default:
			decide("accept")
		}
	}
	s.tell(Event{Kind: Asks, Permission: p})
}

// steer tells the model something in the middle of its turn. then is called when Codex has it.
func (s *codexSession) steer(text string, then func()) {
	s.mu.Lock()
	turn := s.turn
	s.mu.Unlock()
	s.call("turn/steer", map[string]any{
		"threadId": s.thread, "expectedTurnId": turn, "input": []any{map[string]any{"type": "text", "text": text}},
	}, func(jsontext.Value, *rpcFault) { then() })
}
