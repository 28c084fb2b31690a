package board

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// A pipe is a `bossman mcp` and the client that started it: plain JSON-RPC, so that
// what is tested is not tested with itself. Calls may be made at the same time.
type pipe struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	cancel context.CancelFunc
	stderr bytes.Buffer
	ended  chan struct{} // closed when its stdout is

	mu      sync.Mutex
	next    int
	waiting map[int]chan reply
	changed chan string // URIs of resources that the server says have changed
}

type reply struct {
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// raw starts a server for a client that has not said anything yet.
func (s *site) raw(t testing.TB, dir string, args ...string) *pipe {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	argv := append([]string{programs.Path(harness.Bossman), "mcp"}, args...)
	p := &pipe{
		cmd: harness.Command(ctx, s.home, argv...), cancel: cancel, ended: make(chan struct{}),
		waiting: map[int]chan reply{}, changed: make(chan string, 1000),
	}
	p.cmd.Dir = dir
	p.cmd.Stderr = &p.stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.read(out)
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("stderr of a server ends\n%s", harness.Tail(p.stderr.String(), 10))
		}
	})
	return p
}

// pipe starts a server and shakes hands.
func (s *site) pipe(t testing.TB, dir string, args ...string) *pipe {
	t.Helper()
	p := s.raw(t, dir, args...)
	if _, err := p.request("initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "e2e", "version": "1"},
	}); err != nil {
		t.Fatal(err)
	}
	if err := p.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"}); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *pipe) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var m struct {
			ID     *int
			Method string
			Params struct{ URI string }
			reply
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			break // the next request then says that it ended
		}
		switch {
		case m.Method == "notifications/resources/updated":
			select {
			case p.changed <- m.Params.URI:
			default:
			}
		case m.ID != nil && m.Method == "":
			p.mu.Lock()
			c := p.waiting[*m.ID]
			delete(p.waiting, *m.ID)
			p.mu.Unlock()
			if c != nil {
				c <- m.reply
			}
		}
	}
	close(p.ended)
}

func (p *pipe) send(m any) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err = p.in.Write(append(b, '\n'))
	return err
}

var errEnded = errors.New("the server has ended")

// An rpcError is the answer of a method that was refused.
type rpcError struct {
	code    int
	message string
}

func (e *rpcError) Error() string { return fmt.Sprintf("%d: %s", e.code, e.message) }

// request asks and waits for the answer.
func (p *pipe) request(method string, params any) (json.RawMessage, error) {
	c := make(chan reply, 1)
	p.mu.Lock()
	p.next++
	id := p.next
	p.waiting[id] = c
	p.mu.Unlock()
	if err := p.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}); err != nil {
		return nil, err
	}
	select {
	case r := <-c:
		if r.Error != nil {
			return nil, &rpcError{r.Error.Code, r.Error.Message}
		}
		return r.Result, nil
	case <-p.ended:
		return nil, errEnded
	case <-time.After(patience):
		return nil, fmt.Errorf("%s was not answered within %v", method, patience)
	}
}

// An answer is what a tool said: the text, and what programs read.
type answer struct {
	text    string
	refused bool
	facts   facts
}

// facts is what the tests read of any tool's result.
type facts struct {
	Outcome  string
	Claim    claim
	Held     []claim
	ID       string
	Status   string
	State    string
	Answer   string
	Question string
	Late     bool
	Error    string
}

type claim struct{ Claim, Task, Worker string }

type args map[string]any

// try calls a tool.
func (p *pipe) try(tool string, a args) (answer, error) {
	if a == nil {
		a = args{}
	}
	b, err := p.request("tools/call", args{"name": tool, "arguments": a})
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", tool, err)
	}
	var res struct {
		Content []struct{ Text string }
		IsError bool
		Meta    struct {
			Facts json.RawMessage `json:"dev.bossman/result"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(b, &res); err != nil {
		return answer{}, fmt.Errorf("%s: %w in %s", tool, err, b)
	}
	out := answer{refused: res.IsError}
	for _, c := range res.Content {
		out.text += c.Text + "\n"
	}
	_ = json.Unmarshal(res.Meta.Facts, &out.facts) // not all are alike
	return out, nil
}

// call calls a tool that is expected to do its work.
func (p *pipe) call(t testing.TB, tool string, a args) answer {
	t.Helper()
	out, err := p.try(tool, a)
	if err != nil {
		t.Fatal(err)
	}
	if out.refused {
		t.Fatalf("%s %v was refused: %s", tool, a, out.text)
	}
	return out
}

// watch subscribes to a resource.
func (p *pipe) watch(t testing.TB, uri string) {
	t.Helper()
	if _, err := p.request("resources/subscribe", args{"uri": uri}); err != nil {
		t.Fatal(err)
	}
}

// until waits for a condition, looking whenever the server says that a resource has
// changed.
func (p *pipe) until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	late := time.After(patience)
	for !ok() {
		select {
		case <-p.changed:
		case <-p.ended:
			t.Fatalf("the server ended before: %s", what)
		case <-late:
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// end closes the pipe as a client does, and wants the server to leave with 0.
func (p *pipe) end(t testing.TB) {
	t.Helper()
	_ = p.in.Close()
	<-p.ended
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v, want 0 at the end of its input", err)
	}
}

// kill is kill -9. It may come after end, or twice.
func (p *pipe) kill() {
	if p.cmd.ProcessState == nil {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.ended
		_ = p.cmd.Wait()
	}
	p.cancel()
}
