package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

func stdioSuite(o *options, w io.Writer) error {
	servers, err := stdioServers(o.only)
	if err != nil {
		return err
	}
	var verdicts []verdict
	for _, proto := range o.protos {
		rs, err := o.interleave("stdio", grid(proto, o.sizes, o.inflight), servers, func(s server, c cell) (sample, error) {
			p, err := s.start(o, "stdio")
			if err != nil {
				return sample{}, err
			}
			defer p.stop()
			return stdioCell(s, p, c, o, nil)
		})
		if err != nil {
			return err
		}
		if err := rs.print(w, "stdio "+proto+", tools/call echo", servers[0].name); err != nil {
			return err
		}
		verdicts = append(verdicts, stdioGate.judge(proto, rs)...)
	}
	if !o.check {
		return nil
	}
	return report(w, verdicts)
}

// stdioCell measures one cell in a fresh process.
func stdioCell(s server, p *process, c cell, o *options, ready func() error) (sample, error) {
	l := &line{p: p, r: bufio.NewReaderSize(p.out, 256<<10)}
	if c.Proto == legacy {
		if err := l.handshake(); err != nil {
			return sample{}, err
		}
	}
	call := newCall(c.Proto, c.Size, s.tool)
	call.bytes = append(call.bytes, '\n')
	answer, err := l.call(call.bytes)
	if err != nil {
		return sample{}, err
	}
	if err := checkAnswer(answer, c.Size); err != nil {
		return sample{}, err
	}
	return measure(p, o, ready, func(d time.Duration) (load, error) {
		if c.Width == 1 {
			return l.pingPong(call, d)
		}
		return l.pipeline(call, c.Width, d)
	})
}

// A line is a server's stdin and stdout, one message a line.
type line struct {
	p    *process
	r    *bufio.Reader
	long []byte // a message that did not fit in r
}

func (l *line) handshake() error {
	answer, err := l.call([]byte(initialize + "\n"))
	if err != nil {
		return err
	}
	if !bytes.Contains(answer, []byte(`"serverInfo"`)) {
		return fmt.Errorf("%w: %.300q", errNoServerInfo, answer)
	}
	_, err = io.WriteString(l.p.in, initialized+"\n")
	return err
}

// call sends a message and returns the next one that comes. It is valid until
// the next read.
func (l *line) call(msg []byte) ([]byte, error) {
	if _, err := l.p.in.Write(msg); err != nil {
		return nil, err
	}
	return l.read()
}

func (l *line) read() ([]byte, error) {
	part, err := l.r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return part, err
	}
	l.long = append(l.long[:0], part...)
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = l.r.ReadSlice('\n')
		l.long = append(l.long, part...)
	}
	return l.long, err
}

// pingPong sends a request when the one before is answered.
func (l *line) pingPong(call message, d time.Duration) (load, error) {
	got := load{latencies: make([]time.Duration, 0, 1<<18)}
	end := time.Now().Add(d)
	for id := firstID + 1; ; id++ {
		begin := time.Now()
		if begin.After(end) {
			return got, nil
		}
		call.setID(id)
		answer, err := l.call(call.bytes)
		if err != nil {
			return load{}, err
		}
		got.latencies = append(got.latencies, time.Since(begin))
		if have, ok := answered(answer); !ok || have != id {
			got.errors++
		}
		got.calls++
	}
}

// pipeline keeps width requests in flight. A writer sends as many as are free to
// go in one write; answers are read here and may come in any order.
func (l *line) pipeline(call message, width int, d time.Duration) (load, error) {
	// A request is in flight from its place in waiting until its answer is read.
	// The reader holds one beside those in the channel.
	waiting := make(chan struct{}, width-1)
	begin := time.Now()
	sent := newClock(begin)
	written := make(chan error, 1)
	go func() {
		written <- l.write(call, waiting, sent, begin.Add(d))
	}()
	got := load{latencies: make([]time.Duration, 0, 1<<18)}
	for range waiting {
		answer, err := l.read()
		if err != nil {
			l.p.stop() // the writer's next write fails
			for range waiting {
			}
			return load{}, errors.Join(err, <-written)
		}
		id, ok := answered(answer)
		if latency, known := sent.stop(id); ok && known {
			got.latencies = append(got.latencies, latency)
		} else {
			got.errors++
		}
		got.calls++
	}
	return got, <-written
}

// write sends requests until end, and closes waiting when it leaves.
func (l *line) write(call message, waiting chan<- struct{}, sent *clock, end time.Time) error {
	defer close(waiting)
	const full = 64 << 10
	batch := make([]byte, 0, full+len(call.bytes))
	for id := firstID; ; {
		waiting <- struct{}{}
		now := time.Now()
		batch = batch[:0]
	fill:
		for {
			id++
			call.setID(id)
			sent.start(id, now)
			batch = append(batch, call.bytes...)
			if len(batch) >= full {
				break
			}
			select {
			case waiting <- struct{}{}:
			default:
				break fill
			}
		}
		if _, err := l.p.in.Write(batch); err != nil {
			return err
		}
		if time.Now().After(end) {
			return nil
		}
	}
}

// A clock keeps when each request in flight was sent. Between the oldest and the
// newest there are far fewer than its places.
type clock struct {
	begin time.Time
	sent  [1 << 16]atomic.Int64 // ns since begin, plus one; 0: not in flight
}

func newClock(begin time.Time) *clock { return &clock{begin: begin} }

func (c *clock) start(id int, at time.Time) {
	c.sent[id%len(c.sent)].Store(at.Sub(c.begin).Nanoseconds() + 1)
}

// stop returns how long a request took, once.
func (c *clock) stop(id int) (time.Duration, bool) {
	at := c.sent[id%len(c.sent)].Swap(0)
	if at == 0 {
		return 0, false
	}
	return time.Since(c.begin) - time.Duration(at-1), true
}
