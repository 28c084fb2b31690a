package agent

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bossman-dev/bossman/proc"
	"github.com/go-json-experiment/json"
)

// pipes are the three standard files of a process, at our end.
type pipes struct {
	in, out, err *os.File
	theirs       []*os.File
}

func newPipes(cmd *exec.Cmd) (p *pipes, err error) {
	p = &pipes{}
	var files [6]*os.File
	for n := 0; n < len(files); n += 2 {
		if files[n], files[n+1], err = os.Pipe(); err != nil {
			for _, f := range files[:n] {
				f.Close()
			}
			return nil, err
		}
	}
	cmd.Stdin, p.in = files[0], files[1]
	p.out, cmd.Stdout = files[2], files[3]
	p.err, cmd.Stderr = files[4], files[5]
	p.theirs = []*os.File{files[0], files[3], files[5]}
	return p, nil
}

// started closes the other ends, which the process has now.
func (p *pipes) started() {
	for _, f := range p.theirs {
		f.Close()
	}
}

func (p *pipes) close() {
	p.in.Close()
	p.out.Close()
	p.err.Close()
}

// A stream is an agent that is spoken to in JSON, a message a line, on its standard input and
// output.
type stream struct {
	minded  *proc.Minded
	pipes   *pipes
	events  chan Event
	writing sync.Mutex
	parted  atomic.Bool // it was ended after its last turn: how it ended says nothing

	mu   sync.Mutex
	last string          // what was said last
	open map[string]bool // the calls of tools that are under way, by their ids
}

// maxOpen bounds how many calls are counted, and maxCallID their ids.
const (
	maxOpen   = 1000
	maxCallID = 1000
)

// beginCall notes that a call is under way, and endCall that it has ended.
func (s *stream) beginCall(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[string]bool{}
	}
	if len(s.open) < maxOpen && len(id) <= maxCallID {
		s.open[id] = true
	}
}

func (s *stream) endCall(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, id)
}

// tell passes on a sign of work.
func (s *stream) tell(e Event) {
	s.mu.Lock()
	e.Calling = len(s.open) > 0
	s.mu.Unlock()
	s.events <- e
}

// turned passes on the end of a turn, with which all calls have ended.
func (s *stream) turned(e Event) {
	s.mu.Lock()
	clear(s.open)
	s.mu.Unlock()
	s.events <- e
}

// startStream starts a process. Its first message can be sent at once; watch reads what it says.
func startStream(cmd *exec.Cmd, j Job) (*stream, error) {
	pipes, err := newPipes(cmd)
	if err != nil {
		return nil, err
	}
	m, err := j.Mind(cmd)
	pipes.started()
	if err != nil {
		pipes.close()
		return nil, err
	}
	return &stream{minded: m, pipes: pipes, events: make(chan Event, 16)}, nil
}

// Events implements Session.
func (s *stream) Events() <-chan Event { return s.events }

// End implements Session.
func (s *stream) End() { s.minded.End() }

// Finish implements Session.
func (s *stream) Finish() { s.pipes.in.Close() }

// send sends a message, and reports whether that was possible.
func (s *stream) send(message any) bool {
	line, err := json.Marshal(message)
	s.writing.Lock()
	defer s.writing.Unlock()
	if err == nil {
		_, err = s.pipes.in.Write(append(line, '\n'))
	}
	return err == nil
}

// say notes what the agent said last.
func (s *stream) say(text string) {
	if text != "" {
		s.mu.Lock()
		s.last = text
		s.mu.Unlock()
	}
}

// rest waits until the rest of a process's output was read, after everything of it has ended, and
// closes our ends of its pipes: a process that nobody could end may still hold the others.
func rest(read <-chan struct{}, closePipes func()) {
	select {
	case <-read:
	case <-time.After(outputDelay):
	}
	closePipes()
	<-read
}

// sequence is a sequence that makes a terminal show colours, or move its cursor.
var sequence = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]`)

// uncoloured is output as text: what is for terminals is left out.
func uncoloured(output []byte) string { return string(sequence.ReplaceAll(output, nil)) }

// maxEvent bounds a line: a tool's result may have a file in it. What is read of one takes a
// multiple of that.
const maxEvent = 4 << 20

// eachLine reads lines, and leaves out those that are too long.
func eachLine(r io.Reader, take func(line []byte)) {
	in := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	for long := false; ; {
		part, err := in.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxEvent; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			take(text)
		}
		if err != nil {
			return
		}
		line, long = line[:0], false
	}
}

// watch reads lines until the process has ended.
func (s *stream) watch(take func(line []byte)) {
	var wg sync.WaitGroup
	var complaints string
	wg.Go(func() {
		text, _ := io.ReadAll(io.LimitReader(s.pipes.err, maxLine))
		complaints = strings.TrimSpace(uncoloured(text))
		_, _ = io.Copy(io.Discard, s.pipes.err)
	})
	wg.Go(func() {
		eachLine(s.pipes.out, take)
	})
	end := s.minded.Wait()
	if s.parted.Load() {
		end.Exit, end.Signal = 0, ""
	}
	read := make(chan struct{})
	go func() {
		wg.Wait()
		close(read)
	}()
	rest(read, s.pipes.close)
	s.mu.Lock()
	text := s.last
	s.mu.Unlock()
	if complaints != "" && (text == "" || end.Exit != 0) {
		text = strings.TrimSpace(text + "\n" + complaints)
	}
	s.events <- Event{Kind: Ended, Text: text, Ending: end}
	close(s.events)
}
