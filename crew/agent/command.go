package agent

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/proc"
)

// Command returns an agent that is any program, which has to be there. It finds its task in files
// that its environment names, and reports with commands of Bossman.
func Command(words []string) (Agent, error) {
	words, err := FindCommand(words)
	return command(words), err
}

// FindCommand looks for the program of a command line.
func FindCommand(words []string) ([]string, error) {
	path, err := exec.LookPath(words[0])
	if err == nil {
		path, err = filepath.Abs(path) // the agent runs in another directory
	}
	return append([]string{path}, words[1:]...), err
}

type command []string

func (c command) Name() string { return filepath.Base(c[0]) }

func (c command) Tools() bool { return false }

func (c command) Prices() bool { return false }

// maxLine bounds a line of output that is looked at, and tailLines how many are kept.
const (
	maxLine   = 4 << 10
	tailLines = 20
	// outputDelay is how long output is read after everything has ended.
	outputDelay = time.Second
)

func (c command) Start(j Job) (Session, error) {
	cmd := exec.Command(c[0], c[1:]...)
	cmd.Dir, cmd.Env = j.Dir, j.Env
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = in, in
	m, err := j.Mind(cmd)
	in.Close()
	if err != nil {
		out.Close()
		return nil, err
	}
	s := &commandSession{minded: m, events: make(chan Event, 100)}
	go s.watch(out)
	return s, nil
}

// A commandSession is a program at work. Each line of its output is a sign of work.
type commandSession struct {
	minded *proc.Minded
	events chan Event
	mu     sync.Mutex
	tail   []string
}

func (s *commandSession) Events() <-chan Event { return s.events }

func (s *commandSession) End() { s.minded.End() }

func (s *commandSession) Tell(string) bool { return false }

func (s *commandSession) Finish() {}

func (s *commandSession) watch(out *os.File) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewReaderSize(out, maxLine)
		for {
			line, _, err := lines.ReadLine()
			if err != nil {
				return
			}
			text := strings.TrimRight(uncoloured(line), " \t\r")
			s.keep(text)
			select {
			case s.events <- Event{Kind: Activity, Text: text}:
			default: // somebody who is behind needs no more
			}
		}
	}()
	end := s.minded.Wait()
	rest(read, func() { out.Close() })
	s.mu.Lock()
	text := strings.Join(s.tail, "\n")
	s.mu.Unlock()
	s.events <- Event{Kind: Ended, Text: text, Ending: end}
	close(s.events)
}

// keep keeps the last lines.
func (s *commandSession) keep(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tail = append(s.tail, line)
	if len(s.tail) > tailLines {
		s.tail = s.tail[1:]
	}
}
