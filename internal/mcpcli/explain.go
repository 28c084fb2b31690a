package mcpcli

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// explain gives an error of the connection its exit code and next step.
func (s *session) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if console.CodeOf(err) != 0 {
		return err
	}
	if s.OutputFailed(err) {
		return err // nobody reads our output any more
	}
	s.progress.Clear()
	// The end of ctx may look like the end of the server.
	if context.Cause(ctx) == errTimedOut {
		return console.Errorf(console.Unavailable, "use a longer --timeout, or see what it does with -v", "%w (%v)", errTimedOut, s.options.timeout)
	}
	if ctx.Err() != nil {
		return context.Canceled
	}
	if _, refused := errors.AsType[*mcp.StatusError](err); refused && s.Client == nil {
		return s.explainHTTP(err)
	}
	if errors.Is(err, jsonrpc.ErrTooLong) {
		name := shownURL(s.target.url)
		if s.target.command != nil {
			name = s.target.command.Args[0]
		}
		return console.Errorf(console.Failure, "tell the author of the server: a list or a line must end", "%s: %w", name, err)
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		if e.Code == jsonrpc.CodeMethodNotFound {
			return console.Errorf(console.NotFound, "", "the server does not support that: %s", e.Message)
		}
		next := ""
		if e.Code == jsonrpc.CodeInvalidParams {
			next = s.target.line("tools", "NAME") + " shows the arguments of a tool"
		}
		return console.Errorf(console.Failure, next, "the server refused: %s (%d)", e.Message, e.Code)
	}
	if e, ok := errors.AsType[*mcp.TaskError](err); ok {
		return console.Errorf(console.Failure, "", "the call continued as task %s, which failed or is no longer followed: %w", e.ID, e.Err)
	}
	if s.target.command != nil {
		return s.explainCommand(err)
	}
	return s.explainHTTP(err)
}

func (s *session) explainCommand(err error) error {
	name := s.target.command.Args[0]
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return console.Errorf(console.Unavailable, "check that it is installed, and the spelling", "cannot start %s: there is no such program", name)
	case errors.Is(err, fs.ErrPermission):
		return console.Errorf(console.Unavailable, "check that it is a program and that you may run it", "cannot start %s: permission denied", name)
	}
	if s.Client != nil {
		_ = s.Close() // after this its standard error is complete
	}
	s.child.show()
	if errors.Is(err, mcp.ErrTimeout) {
		return console.Errorf(console.Unavailable, "see what it does with -v, or use a longer --timeout", "%s does not answer: %w", name, err)
	}
	if errors.Is(err, jsonrpc.ErrClosed) {
		why := ""
		if e, ok := errors.AsType[*mcp.ExitError](err); ok && e.State != nil && !e.Killed {
			why = " (" + e.State.String() + ")"
		}
		when := "during the call"
		if s.Client == nil {
			when = "before it answered"
		}
		return console.Errorf(console.Unavailable, "run the command alone and see what it prints", "%s ended %s%s", name, when, why)
	}
	return console.Errorf(console.Unavailable, "see what it does with -v; does it speak MCP on its standard output?", "%w", err)
}

func (s *session) explainHTTP(err error) error {
	address, text := shownURL(s.target.url), s.errorText(err)
	if said := s.refused.Load(); said != nil && *said != "" && !strings.Contains(text, *said) {
		// The server has no OAuth; it may require a key.
		text = *said + "\n" + text
	}
	if errors.Is(err, errNoTerminal) {
		return console.Errorf(console.Denied, "run it once in a terminal, or send a token: --header 'Authorization: Bearer ${TOKEN}'",
			"%s requires a person's consent, and there is no terminal", address)
	}
	e, status := errors.AsType[*mcp.StatusError](err)
	switch {
	case s.refused.Load() != nil || status && (e.Code == http.StatusUnauthorized || e.Code == http.StatusForbidden):
		return console.Errorf(console.Denied, "send what it requires: --header 'Authorization: Bearer ${TOKEN}', or see its documentation",
			"%s refused access: %s", address, text)
	case status && (e.Code == http.StatusNotFound || e.Code == http.StatusMethodNotAllowed):
		return console.Errorf(console.Unavailable, "check the address: the path is often /mcp", "there is no MCP server at %s: %s", address, text)
	}
	return console.Errorf(console.Unavailable, "check that it is running, and the address", "%s cannot be reached: %s", address, text)
}

// errorText is the text of an HTTP error, without the query and user of URLs, which may
// contain a key, and without repeated lines.
func (s *session) errorText(err error) string {
	text := strings.ReplaceAll(err.Error(), s.target.url, shownURL(s.target.url))
	if e, ok := errors.AsType[*url.Error](err); ok {
		text = strings.ReplaceAll(text, e.URL, shownURL(e.URL))
	}
	var lines []string
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		if !slices.ContainsFunc(lines, func(said string) bool { return strings.HasSuffix(said, l) }) {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "\n")
}
