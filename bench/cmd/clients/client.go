package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

// connect starts the server and connects a client to it.
func connect(ctx context.Context, name string, x way, server string) (caller, error) {
	url := ""
	stop := func() {}
	if x.mode == "http" {
		cmd := exec.Command(server, "-mode=http", "-stateless")
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			return nil, err
		}
		url = "http://" + strings.TrimSpace(strings.TrimPrefix(line, "ADDR ")) + "/mcp"
		stop = func() {
			_ = in.Close()
			_ = cmd.Wait()
		}
	}
	switch name {
	case "bare":
		if url != "" {
			return newBareHTTP(ctx, url, x.revision, stop)
		}
		return newBare(server, x.revision)
	case "bossman":
		r, ok := mcp.ParseRevision(x.revision)
		if !ok {
			return nil, fmt.Errorf("no revision %q", x.revision)
		}
		o := &mcp.ClientOptions{Logger: slog.New(slog.DiscardHandler), Revision: r}
		var c *mcp.Client
		var err error
		if url != "" {
			t := http.DefaultTransport.(*http.Transport).Clone()
			t.MaxIdleConnsPerHost = 64
			c, err = streamable.Connect(ctx, url, &streamable.ClientOptions{Transport: t}, o)
		} else {
			c, err = (&mcp.Command{Args: []string{server}, Logger: o.Logger}).Connect(ctx, o)
		}
		return &ours{c, stop}, err
	case "go-sdk":
		var t gosdk.Transport = &gosdk.CommandTransport{Command: exec.Command(server)}
		if url != "" {
			h := http.DefaultTransport.(*http.Transport).Clone()
			h.MaxIdleConnsPerHost = 64
			t = &gosdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: h}}
		}
		s, err := gosdk.NewClient(&gosdk.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx, t, &gosdk.ClientSessionOptions{ProtocolVersion: x.revision})
		if err == nil && s.InitializeResult().ProtocolVersion != x.revision {
			err = fmt.Errorf("it speaks %s", s.InitializeResult().ProtocolVersion)
		}
		return &sdk{s, stop}, err
	}
	return nil, fmt.Errorf("no client %q", name)
}

type ours struct {
	c    *mcp.Client
	stop func()
}

func (o *ours) call(ctx context.Context, text string) error {
	res, err := o.c.Call(ctx, "echo", struct {
		Text string `json:"text"`
	}{text}, nil)
	if err == nil && (res.IsError || len(res.Content) != 1 || len(res.Content[0].Text) != len(text)) {
		err = errors.New("wrong answer")
	}
	return err
}

func (o *ours) close() {
	_ = o.c.Close()
	o.stop()
}

type sdk struct {
	s    *gosdk.ClientSession
	stop func()
}

func (s *sdk) call(ctx context.Context, text string) error {
	res, err := s.s.CallTool(ctx, &gosdk.CallToolParams{Name: "echo", Arguments: map[string]any{"text": text}})
	if err == nil && (res.IsError || len(res.Content) != 1 || len(res.Content[0].(*gosdk.TextContent).Text) != len(text)) {
		err = errors.New("wrong answer")
	}
	return err
}

func (s *sdk) close() {
	_ = s.s.Close()
	s.stop()
}

const meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// The handshake, as short as it may be.
const (
	hello       = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + session + `","capabilities":{},"clientInfo":{"name":"bare","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// request writes a call; the text needs no escapes.
func request(b []byte, id int, text, revision string) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendInt(b, int64(id), 10)
	b = append(b, `,"method":"tools/call","params":{"name":"echo","arguments":{"text":"`...)
	b = append(b, text...)
	b = append(b, `"}`...)
	if revision == modern {
		b = append(b, meta...)
	}
	return append(b, "}}"...)
}

type response struct {
	ID     int            `json:"id"`
	Result jsontext.Value `json:"result"`
}

// check reads what a program wants to know of a result.
func check(result []byte, text string) error {
	var res struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if err := jsonv2.Unmarshal(result, &res); err != nil {
		return err
	}
	if len(res.Content) != 1 || len(res.Content[0].Text) != len(text) {
		return errors.New("wrong answer")
	}
	return nil
}

// bare is a client on a pipe that knows the wire format of one call and no more.
type bare struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	revision string

	mu      sync.Mutex
	buf     []byte
	last    int
	pending map[int]chan []byte
}

func newBare(server, revision string) (*bare, error) {
	cmd := exec.Command(server)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	b := &bare{cmd: cmd, in: in, revision: revision, pending: map[int]chan []byte{}}
	r := bufio.NewReaderSize(out, 64<<10)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if revision == session {
		if _, err := io.WriteString(in, hello+"\n"); err != nil {
			return nil, err
		}
		if _, err := r.ReadBytes('\n'); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(in, initialized+"\n"); err != nil {
			return nil, err
		}
	}
	go b.read(r)
	return b, nil
}

func (b *bare) read(r *bufio.Reader) {
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var res response
		if jsonv2.Unmarshal(line, &res) != nil {
			return
		}
		b.mu.Lock()
		c := b.pending[res.ID]
		delete(b.pending, res.ID)
		b.mu.Unlock()
		c <- res.Result
	}
}

func (b *bare) call(_ context.Context, text string) error {
	c := make(chan []byte, 1)
	b.mu.Lock()
	b.last++
	b.pending[b.last] = c
	b.buf = append(request(b.buf[:0], b.last, text, b.revision), '\n')
	_, err := b.in.Write(b.buf)
	b.mu.Unlock()
	if err != nil {
		return err
	}
	return check(<-c, text)
}

func (b *bare) close() {
	_ = b.in.Close()
	_ = b.cmd.Wait()
}

// bareHTTP is the same with net/http.
type bareHTTP struct {
	url    string
	stop   func()
	header http.Header
	http   http.Client
	last   atomic.Int64
}

func newBareHTTP(ctx context.Context, url, revision string, stop func()) (*bareHTTP, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 64
	b := &bareHTTP{url: url, stop: stop, http: http.Client{Transport: t}, header: http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {revision},
	}}
	if revision == modern {
		b.header["Mcp-Method"], b.header["Mcp-Name"] = []string{"tools/call"}, []string{"echo"}
		return b, nil
	}
	for _, text := range []string{hello, initialized} {
		h, _, err := b.post(ctx, []byte(text))
		if err != nil {
			return nil, err
		}
		if id := h.Get("Mcp-Session-Id"); id != "" {
			b.header["Mcp-Session-Id"] = []string{id}
		}
	}
	return b, nil
}

// post sends a message and returns what comes back.
func (b *bareHTTP) post(ctx context.Context, m []byte) (http.Header, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url, bytes.NewReader(m))
	if err != nil {
		return nil, nil, err
	}
	maps.Copy(r.Header, b.header)
	res, err := b.http.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res.Header, body, err
}

func (b *bareHTTP) call(ctx context.Context, text string) error {
	revision := session
	if b.header["Mcp-Method"] != nil {
		revision = modern
	}
	_, body, err := b.post(ctx, request(nil, int(b.last.Add(1)), text, revision))
	if err != nil {
		return err
	}
	var v response
	if err := jsonv2.Unmarshal(body, &v); err != nil {
		return err
	}
	return check(v.Result, text)
}

func (b *bareHTTP) close() { b.stop() }
