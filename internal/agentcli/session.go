package agentcli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/boardtext"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/tools"
)

// A Desk is where an agent works: its board and its directory.
type Desk struct {
	Board access.Board
	// Label is the board's name.
	Label string
	// Caller is the agent. Its owner is replaced with the directory's.
	Caller *access.Caller
	// Options are those of the tools.
	Options tools.Options
	// Dir is the directory, Root that of the project, and Elsewhere where its claim is kept
	// outside git.
	Dir, Root, Elsewhere string
	// Runner is set under bossman work: the runner has the claim, and answers every call.
	// Nothing else but Close is set then.
	Runner *Runner
	// Empty is set if the board has no project yet.
	Empty bool
	// Close ends what the desk started.
	Close func()
}

// A Runner is the bossman work that started the agent.
type Runner struct {
	// Claim is the claim that the agent works under.
	Claim string
	// Dial connects to the runner's server of tools.
	Dial func(ctx context.Context) (jsonrpc.Transport, error)
}

// A session is one command at a desk.
type session struct {
	*Desk
	console *console.Console
	version string
	claim   *claimFile
	named   string // the claim that the command names
	unkept  bool   // no claim can be kept in the directory
}

// open opens the desk of the directory.
func (c *cli) open(ctx context.Context) (*session, error) {
	d, err := c.desk(ctx)
	if err != nil {
		return nil, err
	}
	s := &session{Desk: d, console: c.Console, version: c.version}
	if d.Runner != nil {
		s.claim = &claimFile{Claim: d.Runner.Claim}
		return s, nil
	}
	if s.claim, err = openClaim(d); err != nil {
		d.Close()
		return nil, err
	}
	return s, nil
}

// A reply is what a tool answered.
type reply struct {
	text   string
	failed bool
	// result has the facts, for programs.
	result map[string]any
}

// fact returns a text of the result.
func (r *reply) fact(names ...string) string {
	at := any(r.result)
	for _, name := range names {
		m, _ := at.(map[string]any)
		at = m[name]
	}
	s, _ := at.(string)
	return s
}

// maxCall bounds a call: a report waits for its check.
const maxCall = 24 * time.Hour

// call calls a tool of the board, in this process or in that of the runner.
func (s *session) call(ctx context.Context, tool string, args map[string]any) (*reply, error) {
	maps.DeleteFunc(args, func(_ string, v any) bool { // what was not given
		list, ok := v.([]string)
		return v == "" || ok && len(list) == 0
	})
	if s.Runner != nil {
		conn, err := s.Runner.Dial(ctx)
		if err != nil {
			return nil, err
		}
		r, err := s.callOn(ctx, conn, tool, args)
		if err == nil {
			r.text = AsCommands(r.text)
		}
		return r, err
	}
	tools.Speak(voice)
	if s.unkept || s.named != "" && s.named != s.claim.Claim {
		tools.Speak(claimVoice)
	}
	s.Caller.Owner, s.Caller.Worker = s.claim.Owner, s.claim.Worker
	s.Options.CheckWait = maxCall
	server := mcp.NewServer(mcp.Implementation{Name: "bossman", Version: "1"}, &mcp.ServerOptions{Visible: tools.Visible, Logger: s.Options.Logger})
	defer server.Close()
	server.Use(tools.AuthorizeAs(s.Caller))
	tools.Register(server, s.Board, &s.Options)

	var wg sync.WaitGroup
	defer wg.Wait()
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	here, there := jsonrpc.Pipe(jsonrpc.Limits{})
	wg.Go(func() { _ = s.Board.Run(running) })
	wg.Go(func() { _ = server.Serve(running, there) })
	return s.callOn(ctx, here, tool, args)
}

// callOn calls a tool of the server at the other end.
func (s *session) callOn(ctx context.Context, conn jsonrpc.Transport, tool string, args map[string]any) (*reply, error) {
	client, err := mcp.Connect(ctx, conn, &mcp.ClientOptions{Info: mcp.Implementation{Name: "shell", Version: s.version}, Timeout: maxCall, MaxTime: maxCall})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	progress := s.console.Progress()
	defer progress.Clear()
	res, err := client.Call(ctx, tool, args, &mcp.CallOptions{Progress: func(_ context.Context, p mcp.Progress) {
		if progress.Terminal() || strings.HasPrefix(p.Message, tools.CheckNotBegun) {
			progress.Set(p.Message)
		}
	}})
	if err != nil {
		if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok {
			return nil, errors.New(rpc.Message)
		}
		return nil, err
	}
	r := &reply{failed: res.IsError}
	var texts []string
	for _, c := range res.Content {
		texts = append(texts, c.Text)
	}
	r.text = strings.Join(texts, "\n")
	r.result, _ = res.Meta[tools.ResultKey].(map[string]any)
	return r, nil
}

// exitCodes are the exit codes of refused calls. Others are failures: the task stays as it
// was.
var exitCodes = map[string]console.ExitCode{
	"not_found": console.NotFound, "invalid": console.Usage,
	"denied": console.Denied, "stopped": console.Denied, "read_only": console.Denied,
	"lease_lost":  console.Conflict, // and nothing else: the agent stops working on the task
	"unavailable": console.Unavailable, "full": console.Unavailable, "unknown": console.Unavailable, "too_new": console.Unavailable,
}

// finish keeps what the directory holds after a call, and prints its answer. It returns an
// error for a call that did not do what it was called for.
func (s *session) finish(r *reply) error {
	code := r.fact("error")
	if code == "lease_lost" && s.claim.Claim != "" && (s.named == "" || s.named == s.claim.Claim) {
		s.release()
	}
	none := r.fact("outcome") == "none"
	if (none || code == "not_found") && s.Runner == nil && s.claim.Claim == "" {
		if dir, claim := around(s.Dir); claim != "" {
			r.text += fmt.Sprintf("\nThis is a repository of its own, with a board of its own. %s is held in %q around it. If that is your task, go on there: cd %s", claim, dir, console.ShellWords(dir))
		}
	}
	switch {
	case none:
		return &console.Error{Code: console.NothingToDo, Err: errors.New(r.text), Quoted: true}
	case r.failed:
		exit, ok := exitCodes[code]
		if !ok {
			exit = console.Failure
		}
		return &console.Error{Code: exit, Err: errors.New(r.text), Quoted: true}
	}
	if !s.console.JSON {
		say(s.console, r.text)
		return nil
	}
	out := map[string]any{"message": r.text}
	for name, v := range r.result {
		out[name] = v
	}
	return s.console.PrintJSON(out)
}

// release forgets the claim. The worker's name stays.
func (s *session) release() {
	s.claim.Claim = ""
	if err := s.claim.write(); err != nil {
		s.console.Infof("%s could not be written: %v", s.claim.path, err)
	}
}

// under returns the claim that a command acts under: the one that it names, or the one
// that is held here.
func (s *session) under(ctx context.Context) (string, error) {
	if h, err := board.ParseHandle(cmp.Or(s.named, s.claim.Claim)); err == nil && h.IsReview() {
		return "", console.Errorf(console.Usage, "bossman review accept, or reject -m TEXT, or skip", "%v is a review, not a task to work on: it ends with your verdict", h)
	}
	switch {
	case s.named != "":
		return s.named, nil
	case s.claim.Claim != "":
		return s.claim.Claim, nil
	}
	if dir, claim := s.claim.beside(s.Dir); claim != "" {
		add := "--claim " + claim
		if repo, err := git.Find(s.Dir); err == nil {
			if head, err := repo.Head(); err == nil && head.Branch != "" {
				add += " --branch " + console.ShellWords(head.Branch)
			}
		}
		return "", console.Errorf(console.NotFound, "if that is your task, repeat the command there: cd "+console.ShellWords(dir)+"; if its work is here, add "+add+"; for another task: bossman next",
			"no claim is held in %q; one is held in %q", s.Dir, dir)
	}
	if dir, claim := around(s.Dir); claim != "" {
		return "", console.Errorf(console.NotFound, "if that is your task, repeat the command there: cd "+console.ShellWords(dir)+"; for a task of the repository here: bossman next",
			"no claim is held in %q, which is a repository of its own; %s is held in %q around it", s.Dir, claim, dir)
	}
	if c, ok := s.gone(ctx); ok {
		return "", console.Errorf(console.NotFound, fmt.Sprintf("if that is your task, and its work is here or there is none, add --claim %v; for another task: bossman next", c.Handle),
			"no claim is held in %q; %v was taken in %q, which is gone", s.Dir, c.Task, c.Where.Dir)
	}
	if on, claim := s.claim.onAnother(s.Dir); claim != "" {
		return "", console.Errorf(console.NotFound, "if that is your task, add --board "+console.ShellWords(on)+"; for a task of this board: bossman next",
			"no claim of this board is held in %q; %s is held there on another one, %q", s.Dir, claim, on)
	}
	return "", console.Errorf(console.NotFound, "bossman next", "no claim is held in %q, and the command names none with --claim", s.Dir)
}

// gone returns a claim that was taken on this machine in a directory that is gone, if there is only one.
func (s *session) gone(ctx context.Context) (board.Claim, bool) {
	if s.Runner != nil || s.Empty {
		return board.Claim{}, false
	}
	claims, err := s.Board.Claims(ctx, board.ClaimFilter{Principal: s.Caller.Principal})
	claims = slices.DeleteFunc(claims, func(c board.Claim) bool { return !boardtext.Gone(c) })
	if err != nil || len(claims) != 1 {
		return board.Claim{}, false
	}
	return claims[0], true
}

// branch is the branch of the work: the one that the command names, else, under the claim of a
// worktree that was moved or that the agent was told to make, the one that is checked out here,
// since here the agent works. It is empty if the work is where it was last.
func (s *session) branch(named string) (string, error) {
	if named != "" || s.Runner != nil || s.named != "" && s.named != s.claim.Claim {
		return named, nil
	}
	repo, err := git.Find(s.Dir)
	if err != nil { // outside git it is judged where it was taken
		return named, nil
	}
	if s.claim.Dir == "" || s.claim.Dir == repo.Root {
		return "", nil
	}
	head, err := repo.Head()
	if err == nil && head.Branch == "" {
		err = console.Errorf(console.Usage, "git switch -c NAME", "the claim was taken elsewhere, and no branch is checked out in %q by which the work here could be found", s.Dir)
	}
	return head.Branch, err
}

// recall finds the worker whose claim was taken in this directory by a command that was killed before it could keep that: by the owner,
// which is kept before a task is asked for. If it cannot be, remember says so.
func (s *session) recall(ctx context.Context) {
	claims, err := s.Board.Claims(ctx, board.ClaimFilter{Principal: s.Caller.Principal, Owner: s.claim.Owner, Limit: 1})
	if err == nil && len(claims) == 1 {
		s.claim.Worker = claims[0].Worker.Name
		return
	}
	_ = s.claim.write()
}

// remember keeps the claim of a hand-out. If it cannot be written, the answer says what to
// do instead.
func (s *session) remember(r *reply) {
	s.claim.Worker, s.claim.Claim = r.fact("claim", "worker"), r.fact("claim", "claim")
	if repo, err := git.Find(s.Dir); err == nil && r.fact("outcome") == "handed_out" {
		if own := claimPath(s.Dir, s.Elsewhere); own != s.claim.path { // the last claim was found in another worktree, and is over
			s.release()
			s.claim.path = own
			s.claim.Worker, s.claim.Claim = r.fact("claim", "worker"), r.fact("claim", "claim")
		}
		s.claim.Dir, s.claim.Branch = repo.Root, r.fact("claim", "branch")
	}
	if err := s.claim.write(); err != nil {
		r.text += fmt.Sprintf("\nThis claim could not be kept in %s (%v). Add --claim %s to each command.", s.claim.path, err, s.claim.Claim)
	}
}
