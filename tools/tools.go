package tools

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
	"github.com/bossman-dev/bossman/mcp"
)

// ResultKey is the key in a result's _meta under which programs find the facts of its text.
const ResultKey = "dev.bossman/result"

// alwaysLoadKey is the key in a tool's _meta that makes Claude Code show the model its
// definition. By default it shows the names of an MCP server's tools only, until the model
// searches for them.
const alwaysLoadKey = "anthropic/alwaysLoad"

// maxWait is how long a call may wait: many clients give up after a minute.
const maxWait = 45

// Options are the optional settings of Register.
type Options struct {
	// Pipe is the caller of a server that serves one client on one pipe. While the
	// process runs, it keeps the claims of the client's workers alive. Nil on a server
	// with many clients.
	Pipe *access.Caller
	// Where is the place of the work. Nil: not known.
	Where func(ctx context.Context) board.Where
	// Inspector looks at the work. Nil: it cannot be seen from here.
	Inspector Inspector
	// Keep stores the state that a report is about before the board records the report. at is
	// its place, zero if that was not looked at, and tree what the check has judged, empty if there
	// was none. It returns the place to record, with the commit that has the state, and what is to be
	// said of it, whose Ref is that commit in full. If it fails, a report of done is refused. Nil: nothing is stored.
	Keep func(ctx context.Context, at board.Where, tree, summary string) (board.Where, board.Evidence, error)
	// CheckWait is how long a report waits for its check; default 45 s.
	CheckWait time.Duration
	// Session is the client's own session id, if known.
	Session string
	// Once: the process ends with its call, and what it has shown is noted on the board.
	Once bool
	// Quiet: no person sits at the client, so nobody is asked there.
	Quiet bool
	// Reviews: the server is for the agent of a review. It has the tools for that, and no others.
	Reviews bool
	// Open opens the board if Register was given none, and returns it with the options to use from
	// then on. It is called before each call until it succeeds; calls are refused with its error.
	Open   func(ctx context.Context) (access.Board, *Options, error)
	Logger *slog.Logger
	// Wrote is called after each call that writes, and returns a remark for its answer, or
	// an empty string.
	Wrote func() string
	// Lost is called with a claim whose hand-out reached nobody: the client was gone before the
	// answer was written. Nil: the claim stands.
	Lost func(board.Claim)
	// Asked is called with each new question.
	Asked func(board.Question)
}

// Tools is the set of a board's tools on one server.
type Tools struct {
	server *mcp.Server
	// b and o are set anew when the board is opened. Other methods read them after Open.
	b       access.Board
	o       Options
	opening sync.Mutex
	opened  chan struct{} // closed when there is a board
	// short wakes renewLoop for a claim whose lease is too short for renewEvery.
	short chan struct{}
	// pendings are reports whose check is still under way.
	pendings chan pending

	// watched is closed at the first subscription on a pipe.
	watched  chan struct{}
	watching sync.Once
	// from is where publishChanges starts; see start.
	starting sync.Mutex
	from     position

	// recording is held while a state is stored and its report is recorded, so that what is stored
	// last is what was recorded.
	recording sync.Mutex

	mu       sync.Mutex
	lastCall time.Time
	// lastRenewed is when the process's claims were last renewed.
	lastRenewed time.Time
	given       int                     // claims given to the process
	over        int                     // how many of those, the earliest, have ended
	workers     map[board.Handle]string // the worker of each claim given here
	reviews     map[string]board.Handle // the review that each worker was given here last
	seen        map[string]bool         // answers shown to the holder of a claim
	commented   map[string]int64        // the last comment that each reviewer was shown with a refusal
	declines    map[string]bool         // connections whose client declines by itself
	direct      directState
	traces      map[board.Handle]string // the last report of a claim that was not recorded, as noted
	awaited     map[board.Handle]bool   // claims with a report whose check is waited for
	reporting   map[board.Handle]int    // how many calls wait for the check of a report
	forwent     map[board.Handle]bool   // the claims with which a report was said to drop work that cannot be looked at
	heard       map[board.Handle]string // the last run of the check that a call was told of
	// bound is the claim that the server's agent works under, if it was given one; see Bind.
	bound   board.Handle
	begins  string             // from what that begins
	settled []board.QuestionID // questions of who runs the agent, which acts on the answers
	// unnamedWaits is set while a get_next_task without a worker waits on the pipe.
	unnamedWaits bool
}

// tools is every tool, in the order of the documentation.
var tools = withVerbs(
	// For workers, and everyone.
	getNextTask,
	getTask,
	reportProgress,
	reportTaskDone,
	reportTaskFailed,
	askQuestion,
	getAnswer,
	createTask,
	// For leads.
	createPlan,
	listTasks,
	updateTask,
	cancelTask,
	reviewTask,
	listQuestions,
	answerQuestion,
	listWorkers,
)

// reviewTools are the tools for the agent of a review.
var reviewTools = []string{"get_next_task", "get_task", "ask_question", "get_answer", "review_task"}

// withVerbs gives each tool its row of the table of verbs. It panics if there is none:
// without it nobody would know who may call the tool.
func withVerbs(definitions ...*definition) []*definition {
	for _, d := range definitions {
		v, ok := access.ByTool(d.name)
		if !ok {
			panic("tools: " + d.name + " has no row in the table of verbs")
		}
		d.verb = v
	}
	return definitions
}

// A definition is a tool: how models see it, and its function.
type definition struct {
	name, about string
	props       []prop
	needs       []string // arguments of which a call must have at least one
	verb        *access.Verb
	durable     bool
	hints       mcp.ToolAnnotations
	// refuse maps arguments that must not be ignored to the reason; elsewhere maps ignored
	// arguments to a hint.
	refuse, elsewhere map[string]string
	instead           string // the call to make in place of one with a refused argument
	run               func(ctx context.Context, t *Tools, k *caller) (*answer, error)
}

// An answer is the result of a tool: text for the model, and a value for programs.
type answer struct {
	text   string
	more   []string // further text blocks
	result any
	failed bool            // the tool did not do what it was called for
	made   *mcp.ToolResult // a complete result, in place of the other fields
}

// tool converts a definition for package mcp.
func (d *definition) tool() mcp.Tool {
	hints := d.hints
	hints.OpenWorldHint = new(false)
	hints.ReadOnlyHint = !d.verb.Writes
	if hints.DestructiveHint == nil && !hints.ReadOnlyHint {
		hints.DestructiveHint = new(false)
	}
	tool := mcp.Tool{
		Name: d.name, Description: d.about, InputSchema: schema(d.props), Annotations: &hints,
		Ordered: d.verb.Writes,
		Repair: func(_ context.Context, args json.RawMessage) (json.RawMessage, []string, error) {
			return d.repair(args)
		},
	}
	if d.durable {
		tool.Tasks = mcp.TaskOptional
	}
	if d.verb.Shows(auth.Worker) {
		tool.Meta = mcp.Meta{alwaysLoadKey: true}
	}
	return tool
}

// run adapts a function with typed arguments to the field run of a definition.
func run[In any](f func(ctx context.Context, t *Tools, k *caller, in In) (*answer, error)) func(context.Context, *Tools, *caller) (*answer, error) {
	return func(ctx context.Context, t *Tools, k *caller) (*answer, error) {
		var in In
		if err := jsonv2.Unmarshal(k.call.Arguments(), &in); err != nil {
			return nil, err
		}
		return f(ctx, t, k, in)
	}
}

// Register adds a board's tools, prompts and resources to a server, which needs
// Authorize before it. The board may be nil if o has Open.
func Register(s *mcp.Server, b access.Board, o *Options) *Tools {
	t := &Tools{
		server: s, b: b, opened: make(chan struct{}), short: make(chan struct{}, 1), watched: make(chan struct{}), lastCall: time.Now(),
		workers: map[board.Handle]string{}, reviews: map[string]board.Handle{}, seen: map[string]bool{}, commented: map[string]int64{}, declines: map[string]bool{},
		pendings: make(chan pending, 16), traces: map[board.Handle]string{}, awaited: map[board.Handle]bool{}, reporting: map[board.Handle]int{}, heard: map[board.Handle]string{}, forwent: map[board.Handle]bool{},
	}
	t.set(o)
	if b != nil {
		close(t.opened)
	}
	s.Use(t.openFirst, t.startOnSubscribe)
	for _, d := range tools {
		if o != nil && o.Reviews && !slices.Contains(reviewTools, d.name) {
			continue
		}
		s.AddRawTool(d.tool(), func(ctx context.Context, c *mcp.Call) (*mcp.ToolResult, error) { return t.serve(ctx, d, c) })
	}
	t.addPrompts()
	t.addResources()
	if o == nil || !o.Reviews && o.Keep == nil { // an agent of bossman work has one task, and its hand-out says how to do it
		t.addSkill()
	}
	if t.piped() {
		t.addMethods()
	}
	return t
}

// serve runs a tool and converts its answer or its error to a result.
func (t *Tools) serve(ctx context.Context, d *definition, c *mcp.Call) (*mcp.ToolResult, error) {
	k := t.caller(ctx, c, d.verb)
	if !d.verb.Shows(k.Role) {
		return nil, mcp.ErrNotFound
	}
	t.called()
	a, err := d.run(ctx, t, k)
	if err != nil {
		return refused(k.refuse(action{what: "Not done."}, err))
	}
	if t.o.Wrote != nil && d.verb.Writes {
		if remark := t.o.Wrote(); remark != "" {
			a.more = append(a.more, remark)
		}
	}
	return a.tool(), nil
}

// tell adds a line to the answer, unless it is empty.
func (a *answer) tell(line string) {
	if line != "" {
		a.more = append(a.more, line)
	}
}

func (a *answer) tool() *mcp.ToolResult {
	if a.made != nil {
		return a.made
	}
	res := &mcp.ToolResult{Content: []mcp.Content{content(a.text)}, IsError: a.failed}
	for _, s := range a.more {
		res.Content = append(res.Content, content(s))
	}
	if a.result != nil {
		res.Meta = mcp.Meta{ResultKey: a.result}
	}
	return res
}

// refused converts a refusal to a result. It returns other errors unchanged.
func refused(err error) (*mcp.ToolResult, error) {
	r, ok := asRefusal(err)
	if !ok {
		return nil, err
	}
	return &mcp.ToolResult{
		Content: []mcp.Content{content(r.Error())},
		IsError: true,
		Meta:    mcp.Meta{ResultKey: wireRefusal{Error: r.code, Text: r.why}},
	}, nil
}

// piped reports whether the server serves one client on one pipe.
func (t *Tools) piped() bool { return t.o.Pipe != nil }

// where is where the caller works.
func (t *Tools) where(ctx context.Context, k *caller) (w board.Where) {
	if t.o.Where != nil {
		w = t.o.Where(ctx)
	}
	if k.call != nil { // a direct method does not say
		client := k.call.ClientInfo()
		w.Client = visible.Cut(visible.Line(client.Name+" "+client.Version), 80)
	}
	return w
}

// called records the time of a call.
func (t *Tools) called() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lastCall = time.Now()
}

// remember records the worker of a claim. It forgets all claims when there are too many.
func (t *Tools) remember(ctx context.Context, h *board.Handout) {
	c := h.Claim
	if t.o.Inspector != nil && !c.IsReview() && !h.Again {
		if err := t.o.Inspector.Begin(ctx, board.WorkOf(h.Dossier, c.Worker.Principal)); err != nil {
			t.o.Logger.Warn("the state of the repository could not be noted", "task", c.Task, "err", err)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.workers) > 10_000 {
		clear(t.workers)
	}
	t.given++
	t.workers[c.Handle] = c.Worker.Name
	if c.IsReview() {
		if len(t.reviews) > 10_000 {
			clear(t.reviews)
		}
		t.reviews[c.Worker.Name] = c.Handle
	}
	if renewPause(c.Lease) < renewEvery {
		select {
		case t.short <- struct{}{}:
		default:
		}
	}
}

// workerOf returns the worker that was given a claim here, or an empty string.
func (t *Tools) workerOf(h board.Handle) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.workers[h]
}
