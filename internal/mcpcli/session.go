package mcpcli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
	"github.com/go-json-experiment/json"
)

// errTimedOut is the cause of a context that --timeout has ended.
var errTimedOut = errors.New("it took longer than --timeout allows")

// A session is a connection to a server, and what the command shows of it.
type session struct {
	*cli
	*mcp.Client
	options  *options
	target   *target
	progress *console.Progress
	child    *childLog
	login    *login
	asking   sync.Mutex // held while the person is asked
	// refused is the text of the server's last 401; nil if there was none.
	refused atomic.Pointer[string]
}

func (s *session) connect(ctx context.Context) error {
	log := slog.New(s.child)
	level := slog.LevelInfo
	if s.options.verbose {
		level = slog.LevelDebug
	}
	o := &mcp.ClientOptions{
		Info:   mcp.Implementation{Name: "bossman", Title: "Bossman", Version: s.version},
		Logger: log, LogLevel: level, Tasks: true,
		Elicit: s.elicit,
		OnLog:  s.onLog,
	}
	if s.target.command != nil {
		s.target.command.Logger = log
		c, err := s.target.command.Connect(ctx, o)
		s.Client = c
		return err
	}
	http := &streamable.ClientOptions{Header: s.target.header, Logger: log}
	base := &refusalWatch{base: newHTTPTransport(), refused: &s.refused}
	http.Transport = base
	if s.target.header.Get("Authorization") == "" {
		l, err := s.newLogin(base)
		if err != nil {
			return err
		}
		s.login = l
		http.Transport = l.transport
	}
	c, err := streamable.Connect(ctx, s.target.url, http, o)
	if err != nil && s.login != nil && s.login.needed.Load() && ctx.Err() == nil {
		// A person may take longer than a request may: get consent first, then connect.
		if err = s.login.getConsent(ctx); err == nil {
			c, err = streamable.Connect(ctx, s.target.url, http, o)
		}
	}
	if err != nil && s.login != nil {
		s.login.close()
	}
	s.Client = c
	return err
}

func newHTTPTransport() *http.Transport {
	return http.DefaultTransport.(*http.Transport).Clone()
}

// close closes the connection, and ends the program if there is one.
func (s *session) close() {
	if err := s.Close(); err != nil && s.options.verbose {
		s.progress.Infof("%v", err)
	}
	if s.login != nil {
		s.login.close()
	}
}

// A refusalWatch is a RoundTripper that remembers the text of a 401.
type refusalWatch struct {
	base    http.RoundTripper
	refused *atomic.Pointer[string]
}

func (w *refusalWatch) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := w.base.RoundTrip(r)
	if err == nil && res.StatusCode == http.StatusUnauthorized {
		begin, _ := io.ReadAll(io.LimitReader(res.Body, console.MaxErrorText))
		res.Body = readCloser{io.MultiReader(bytes.NewReader(begin), res.Body), res.Body}
		w.refused.Store(new(refusalText(begin)))
	}
	return res, err
}

// A readCloser is a body whose beginning has already been read.
type readCloser struct {
	io.Reader
	io.Closer
}

// refusalText is the message in the body of a 401, empty if it is not a JSON-RPC error.
func refusalText(body []byte) string {
	var answer struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	return answer.Error.Message
}
