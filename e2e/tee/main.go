// Tee runs an MCP server and records the conversation on its pipe.
//
//	tee LOG COMMAND [ARG...]
//
// Bytes pass through as they come. Each line that went by, each signal that
// came and the end of the server become one JSON object in LOG, which is
// appended to: a client may start a server more than once.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: tee LOG COMMAND [ARG...]")
		os.Exit(2)
	}
	if err := hide(); err != nil {
		fmt.Fprintln(os.Stderr, "tee:", err)
		os.Exit(1)
	}
	code, err := run(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "tee:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

// environment has the environment of the server, while the tee runs in an empty one.
const environment = "TEE_ENVIRONMENT"

// hide starts the tee again without the client's environment. A server looks at that of its
// parent to find out who started its client, and would take the tee for the client.
func hide() error {
	if os.Getenv(environment) != "" {
		return nil
	}
	env, err := json.Marshal(os.Environ())
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return syscall.Exec(self, os.Args, []string{environment + "=" + string(env), "PATH=" + os.Getenv("PATH")})
}

func run(path string, argv []string) (int, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	rec := &recorder{w: f}

	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	if err := json.Unmarshal([]byte(os.Getenv(environment)), &cmd.Env); err != nil {
		return 0, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	if err := cmd.Start(); err != nil {
		return 0, err
	}

	// Neither goroutine is waited for: one may sit in a read of our own stdin
	// until the process ends, which it does right after the server's end.
	go func() {
		for s := range signals {
			rec.put(record{Signal: s.String()})
			_ = cmd.Process.Signal(s)
		}
	}()
	go func() {
		_, _ = io.Copy(in, io.TeeReader(os.Stdin, &lines{rec: rec, from: "client"}))
		_ = in.Close()
	}()

	_, _ = io.Copy(os.Stdout, io.TeeReader(out, &lines{rec: rec, from: "server"}))
	err = cmd.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return 0, err
	}
	code := cmd.ProcessState.ExitCode()
	rec.put(record{Exit: &code})
	return max(code, 0), nil
}

// A record is one line of the log. Package harness reads it back.
type record struct {
	PID    int    `json:"pid"`
	From   string `json:"from,omitempty"`
	Line   string `json:"line,omitempty"`
	Signal string `json:"signal,omitempty"`
	Exit   *int   `json:"exit,omitempty"`
}

type recorder struct {
	mu sync.Mutex
	w  io.Writer
}

func (r *recorder) put(rec record) {
	rec.PID = os.Getpid()
	b, err := json.Marshal(rec)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = r.w.Write(append(b, '\n'))
}

// Lines cuts what is written to it into lines and records each.
type lines struct {
	rec  *recorder
	from string
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		l.rec.put(record{From: l.from, Line: string(line)})
		l.rest = rest
	}
}
