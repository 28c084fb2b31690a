package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

// connect starts the server and connects a client to it.
func connect(ctx context.Context, name, mode, server string) (caller, error) {
	url := ""
	stop := func() {}
	if mode == "http" {
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
			return &bareHTTP{url: url, stop: stop}, nil
		}
		return newBare(server)
	case "bossman":
		o := &mcp.ClientOptions{Logger: slog.New(slog.DiscardHandler)}
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
		s, err := gosdk.NewClient(&gosdk.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx, t, nil)
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

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// request writes a call; the text needs no escapes.
func request(b []byte, id int, text string) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendInt(b, int64(id), 10)
	b = append(b, `,"method":"tools/call","params":{"name":"echo","arguments":{"text":"`...)
	b = append(b, text...)
	b = append(b, `"},`...)
	return append(append(b, meta...), "}}"...)
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
	cmd *exec.Cmd
	in  io.WriteCloser

	mu      sync.Mutex
	buf     []byte
	last    int
	pending map[int]chan []byte
}

func newBare(server string) (*bare, error) {
	cmd := exec.Command(server)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	b := &bare{cmd: cmd, in: in, pending: map[int]chan []byte{}}
	go b.read(bufio.NewReaderSize(out, 64<<10))
	return b, cmd.Start()
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
	b.buf = append(request(b.buf[:0], b.last, text), '\n')
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
	url  string
	stop func()
	once sync.Once
	http http.Client
}

func (b *bareHTTP) call(ctx context.Context, text string) error {
	b.once.Do(func() {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = 64
		b.http.Transport = t
	})
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url, bytes.NewReader(request(nil, 1, text)))
	if err != nil {
		return err
	}
	for name, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "echo",
	} {
		r.Header.Set(name, v)
	}
	res, err := b.http.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
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
