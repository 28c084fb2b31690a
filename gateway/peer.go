package gateway

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

const (
	peerName = 10 // length of a gateway's name among its peers
	// peerWait is how long a peer waits for news of a call before it answers that there are none.
	peerWait = 2 * time.Second
	// peerSilence is how long a peer may take to answer, and peerTries how often it is asked:
	// messages may be lost.
	peerSilence = peerWait + 2*time.Second
	peerTries   = 2
	// maxPeerWaits is the number of calls of one gateway that its peers may wait for.
	maxPeerWaits = 1000
)

// A Relay carries messages between replicas, as a replica.Relay of package mcp/replica does. Some may be lost.
type Relay interface {
	Send(ctx context.Context, to string, message []byte) error
	Receive(name string, handle func(message []byte)) (stop func())
}

// peers are the gateways of the replicas that serve the same clients. A call runs at one of them. The client's
// answer to its question may come to another, which passes it on, and gets the next question or the result.
type peers struct {
	g       *Gateway
	name    string
	silence time.Duration // how long a peer may take to answer

	mu      sync.Mutex
	relay   Relay                       // nil without replicas
	waiting map[string]chan peerMessage // for an answer, by ticket
	serving int                         // waits for peers
}

// A peerMessage is a message between gateways: either wants to know how a call stands, or says so.
type peerMessage struct {
	From   string `json:"from,omitzero"` // who wants to know; empty in an answer
	Ticket string `json:"ticket"`        // chosen by who wants to know
	Call   string `json:"call,omitzero"`

	// Of who wants to know.
	Cancel bool        `json:"cancel,omitzero"` // the client has gone
	Answer *peerAnswer `json:"answer,omitzero"` // of the client

	// Of who knows.
	Unknown  bool            `json:"unknown,omitzero"`
	Question *peerQuestion   `json:"question,omitzero"`
	Result   json.RawMessage `json:"result,omitzero"`
	Refused  *jsonrpc.Error  `json:"refused,omitzero"`
	Failed   string          `json:"failed,omitzero"`
}

type peerQuestion struct {
	Key    string            `json:"key"`
	Form   *mcp.ElicitParams `json:"form,omitzero"`
	Sample *mcp.SampleParams `json:"sample,omitzero"`
}

type peerAnswer struct {
	Key    string            `json:"key"`
	Form   *mcp.ElicitResult `json:"form,omitzero"`
	Sample *mcp.SampleResult `json:"sample,omitzero"`
	Roots  []mcp.Root        `json:"roots,omitzero"`
	Error  string            `json:"error,omitzero"` // one of refusals
}

func newPeers(g *Gateway) *peers {
	return &peers{g: g, name: strings.ToLower(rand.Text()[:peerName]), silence: peerSilence, waiting: map[string]chan peerMessage{}}
}

// Join connects the gateway to those of the other replicas, so that a client may answer at any of them what an
// upstream asks. It is called before Run, which leaves them.
func (g *Gateway) Join(r Relay) {
	g.peers.mu.Lock()
	g.peers.relay = r
	g.peers.mu.Unlock()
	stop := r.Receive(g.peers.name, g.peers.receive)
	context.AfterFunc(g.ctx, stop)
}

// newID names a call and the gateway at which it runs.
func (p *peers) newID() string { return p.name + "." + rand.Text() }

// receive handles a message. Those to all replicas are not for gateways.
func (p *peers) receive(message []byte) {
	var m peerMessage
	if err := jsonv2.Unmarshal(message, &m); err != nil || m.Ticket == "" {
		return
	}
	p.mu.Lock()
	if m.From == "" {
		defer p.mu.Unlock()
		if answered := p.waiting[m.Ticket]; answered != nil {
			select {
			case answered <- m:
			default: // it has one already
			}
		}
		return
	}
	full := p.serving >= maxPeerWaits
	if !full {
		p.serving++
	}
	p.mu.Unlock()
	if full {
		return
	}
	p.g.spawn(func(ctx context.Context) {
		p.send(ctx, m.From, p.stand(ctx, m))
		p.mu.Lock()
		p.serving--
		p.mu.Unlock()
	})
}

func (p *peers) send(ctx context.Context, to string, m peerMessage) {
	text, err := jsonv2.Marshal(m)
	if err == nil {
		err = p.relay.Send(ctx, to, text)
	}
	if err != nil {
		p.g.log.Warn("a message to another replica was not sent", "err", err)
		if m.From == "" && m.Failed == "" {
			p.send(ctx, to, peerMessage{Ticket: m.Ticket, Failed: "the result could not be passed on by the replica that has it. The outcome of the call is unknown: check its effect before you repeat it"})
		}
	}
}

// stand returns how a call stands for a peer, as soon as there is news.
func (p *peers) stand(ctx context.Context, m peerMessage) peerMessage {
	out := peerMessage{Ticket: m.Ticket}
	p.g.mu.Lock()
	f := p.g.pending[m.Call]
	p.g.mu.Unlock()
	if f == nil {
		out.Unknown = true
		return out
	}
	if m.Cancel {
		f.stop(context.Canceled)
		return out
	}
	late := time.NewTimer(peerWait)
	defer late.Stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	if q := f.question; q != nil && m.Answer != nil && m.Answer.Key == q.key {
		f.answerLocked(q, m.Answer.of(q))
	}
	for {
		switch q := f.question; {
		case f.finished:
			out.end(f.result, f.err)
			return out
		case q != nil:
			out.Question = &peerQuestion{q.key, q.form, q.sample}
			return out
		}
		changed := f.changed
		f.mu.Unlock()
		select {
		case <-changed:
			f.mu.Lock()
		case <-late.C:
			f.mu.Lock()
			return out
		case <-ctx.Done():
			f.mu.Lock()
			return out
		}
	}
}

// end says how a call ended.
func (m *peerMessage) end(result json.RawMessage, err error) {
	switch e, refused := errors.AsType[*jsonrpc.Error](err); {
	case err == nil:
		m.Result = result
	case refused:
		m.Refused = e
	default:
		m.Failed = err.Error()
	}
}

// of returns the answer to a question.
func (a *peerAnswer) of(q *question) answer {
	switch err := refusals[a.Error]; {
	case err != nil:
		return answer{err: err}
	case q.form != nil && a.Form != nil:
		return answer{value: a.Form}
	case q.sample != nil && a.Sample != nil:
		return answer{value: a.Sample}
	case q.form == nil && q.sample == nil:
		return answer{value: a.Roots}
	}
	return answer{err: mcp.ErrDismissed}
}

// follow passes the answers of a call's client on to the gateway at which the call runs, and what it asks and its result back.
func (p *peers) follow(ctx context.Context, c *mcp.Call, id, upstream string) (json.RawMessage, error) {
	home, _, _ := strings.Cut(id, ".")
	p.mu.Lock()
	alone := p.relay == nil
	p.mu.Unlock()
	lost := mcp.Errorf("the call of %s is not known any more, since the process that made it has ended or forgotten it: its outcome is unknown. Check its effect before you repeat it", upstream)
	if alone || home == p.name || len(home) != peerName {
		return nil, lost
	}
	m := peerMessage{From: p.name, Call: id}
	for {
		got, ok := p.ask(ctx, home, m)
		switch {
		case ctx.Err() != nil:
			p.g.spawn(func(ctx context.Context) {
				p.send(ctx, home, peerMessage{From: p.name, Ticket: rand.Text(), Call: id, Cancel: true})
			})
			return nil, ctx.Err()
		case !ok || got.Unknown:
			return nil, lost
		case got.Refused != nil:
			return nil, got.Refused
		case got.Failed != "":
			return nil, &mcp.ToolError{Text: got.Failed}
		case got.Result != nil:
			return got.Result, nil
		}
		m.Answer = nil
		if q := got.Question; q != nil {
			v, err := (&question{key: q.Key, form: q.Form, sample: q.Sample}).put(c)
			if err != nil && refusalName(err) == "" {
				return nil, err
			}
			m.Answer = newPeerAnswer(q.Key, v, err)
		}
	}
}

func newPeerAnswer(key string, v any, err error) *peerAnswer {
	a := &peerAnswer{Key: key, Error: refusalName(err)}
	switch v := v.(type) {
	case *mcp.ElicitResult:
		a.Form = v
	case *mcp.SampleResult:
		a.Sample = v
	case []mcp.Root:
		a.Roots = v
	}
	return a
}

// ask asks a peer how a call stands. It reports false if the peer does not answer.
func (p *peers) ask(ctx context.Context, home string, m peerMessage) (peerMessage, bool) {
	m.Ticket = rand.Text()
	answered := make(chan peerMessage, 1)
	p.mu.Lock()
	p.waiting[m.Ticket] = answered
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.waiting, m.Ticket)
		p.mu.Unlock()
	}()
	for range peerTries {
		p.send(ctx, home, m)
		silent := time.NewTimer(p.silence)
		select {
		case got := <-answered:
			silent.Stop()
			return got, true
		case <-silent.C:
		case <-ctx.Done():
			silent.Stop()
			return peerMessage{}, false
		}
	}
	return peerMessage{}, false
}
