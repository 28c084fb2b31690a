package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// Eras remembers which servers need a handshake: to them the question that newer
// ones answer is a riddle. The zero value is empty and ready. What it remembers is
// a hint: a server that no longer fits is asked again.
type Eras struct {
	mu   sync.Mutex
	olds map[string]bool
}

var everyEra Eras

// maxEras bounds what is remembered; then it begins anew.
const maxEras = 4096

func (e *Eras) old(server string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return server != "" && e.olds[server]
}

func (e *Eras) set(server string, old bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case server == "":
	case !old:
		delete(e.olds, server)
	default:
		if e.olds == nil || len(e.olds) >= maxEras {
			e.olds = map[string]bool{}
		}
		e.olds[server] = true
	}
}

// A Fallback is an Exchanger that knows an older way to its server, in which all
// messages share two streams.
type Fallback interface {
	Older(ctx context.Context) (jsonrpc.Transport, error)
}

// breath is how far apart two answers may come that were given together.
const breath = 100 * time.Millisecond

// maxVersions is how often a server may name other versions to be asked in.
const maxVersions = 3

// begin finds out which revision the server speaks and what it offers.
func (c *Client) begin(ctx context.Context) error {
	switch r := c.o.Revision; {
	case r.Stateless():
		e, err := c.discover(ctx, r)
		c.settle(e)
		return err
	case r != 0:
		return c.initialize(ctx, r)
	}
	name := ""
	if n, ok := c.transport.(interface{ Name() string }); ok {
		name = n.Name()
	}
	if c.o.Eras.old(name) {
		if err := c.initialize(ctx, newestLegacy); err == nil || ctx.Err() != nil || c.gone() {
			return err
		}
		c.o.Eras.set(name, false)
	}
	err := c.probe(ctx)
	if err == nil && !c.doubt {
		c.o.Eras.set(name, !c.Revision().Stateless())
	}
	return err
}

func (c *Client) gone() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// probe asks in the way of the newest revision. A server that says it is modern
// is; any other answer means that it is not, and silence that it may not be: then
// it is asked in both ways, and the first that it answers to counts.
func (c *Client) probe(ctx context.Context) error {
	asking, stop := context.WithCancel(ctx)
	defer stop()
	type verdict struct {
		era *settled
		err error
	}
	modern := make(chan verdict, 1)
	c.wg.Go(func() {
		e, err := c.discover(asking, Newest)
		modern <- verdict{e, err}
	})
	patience := c.o.Probe
	if c.exchanger != nil {
		patience *= 3 // who speaks HTTP answers, if only that it does not understand
	}
	silence := time.NewTimer(patience)
	defer silence.Stop()
	select {
	case v := <-modern:
		if old, ok := errors.AsType[*oldServer](v.err); ok {
			c.doubt = old.doubt
			return c.initialize(ctx, old.revision)
		}
		c.settle(v.era)
		return v.err
	case <-silence.C:
	}
	if c.exchanger != nil { // there each request has an answer of its own
		stop()
		return c.initialize(ctx, newestLegacy)
	}
	legacy := make(chan verdict, 1)
	c.wg.Go(func() {
		e, err := c.greet(asking, newestLegacy)
		legacy <- verdict{e, err}
	})
	var errs error
	for range 2 {
		var v verdict
		select {
		case v = <-modern:
		case v = <-legacy:
			if v.err != nil {
				break
			}
			// It may have been slow to start, and answered both in one breath.
			select {
			case m := <-modern:
				if m.err == nil {
					v = m
				}
			case <-time.After(breath):
			}
		}
		if v.err == nil {
			c.settle(v.era)
			return c.greeted(ctx)
		}
		errs = errors.Join(errs, v.err)
	}
	return errs
}

// oldServer tells that a server needs a handshake.
type oldServer struct {
	revision Revision // to offer
	why      error
	doubt    bool // it may only be busy
}

func (e *oldServer) Error() string { return "the server is of an older revision: " + e.why.Error() }
func (e *oldServer) Unwrap() error { return e.why }

// discover asks what the server offers, in the era without a handshake.
func (c *Client) discover(ctx context.Context, r Revision) (*settled, error) {
	for range maxVersions {
		era := c.stateless(r)
		raw, err := c.ask(ctx, &question{method: "server/discover", era: era})
		if err != nil {
			supported, modern := versionsOf(err)
			switch {
			case !modern && (isAuth(err) || isUnreachable(err) || ctx.Err() != nil), errors.Is(err, jsonrpc.ErrClosed):
				return nil, err
			case !modern:
				status, _ := errors.AsType[*StatusError](err)
				return nil, &oldServer{newestLegacy, err, status != nil && (status.Code >= 500 || status.Code == 429)}
			}
			if r, err = c.choose(supported, err); err != nil {
				return nil, err
			}
			continue
		}
		var res struct {
			Versions     *[]string          `json:"supportedVersions"`
			Capabilities ServerCapabilities `json:"capabilities"`
			Instructions string             `json:"instructions"`
		}
		if err := jsonv2.Unmarshal(raw, &res); err != nil || res.Versions == nil {
			return nil, &oldServer{newestLegacy, errors.New("its answer to server/discover is something else"), false}
		}
		next, err := c.choose(*res.Versions, errors.New("the server speaks none of our revisions"))
		if err != nil {
			return nil, err
		}
		if next == r {
			era.server = initializeResult{
				ProtocolVersion: r.String(), ServerInfo: infoOf(raw),
				Capabilities: res.Capabilities, Instructions: res.Instructions,
			}
			return era, nil
		}
		r = next
	}
	return nil, errors.New("the server keeps asking for other revisions")
}

// infoOf reads a result's own word about who made it.
func infoOf(result json.RawMessage) (info Implementation) {
	_ = jsonv2.Unmarshal(member(member(result, "_meta"), metaServerInfo), &info)
	return info
}

// choose is the newest revision of a server's list that this client may speak.
func (c *Client) choose(supported []string, otherwise error) (Revision, error) {
	for _, r := range slices.Backward(Revisions()) {
		switch {
		case !slices.Contains(supported, r.String()), c.o.Revision != 0 && r != c.o.Revision:
		case r.Stateless():
			return r, nil
		default:
			return 0, &oldServer{r, otherwise, false}
		}
	}
	return 0, otherwise
}

// versionsOf reports whether an error can only come from a server of the era
// without a handshake, and which versions it names.
func versionsOf(err error) (supported []string, modern bool) {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok {
		return nil, false
	}
	switch e.Code {
	case CodeUnsupportedVersion:
		var data struct {
			Supported []string `json:"supported"`
		}
		if jsonv2.Unmarshal(e.Data, &data) != nil {
			return nil, true
		}
		return data.Supported, true
	case CodeHeaderMismatch, CodeMissingCapability:
		return nil, true
	}
	return nil, false
}

// isAuth reports whether the server wants to know first who asks: that says
// nothing about its era.
func isAuth(err error) bool {
	e, ok := errors.AsType[*StatusError](err)
	return ok && (e.Code == 401 || e.Code == 403)
}

// isUnreachable reports whether nobody has answered at all, or we were not allowed
// to ask.
func isUnreachable(err error) bool {
	_, ok := errors.AsType[*url.Error](err)
	return ok
}

// stateless is how requests of the era without a handshake are written.
func (c *Client) stateless(r Revision) *settled {
	caps := c.capabilities
	if caps.Roots != nil {
		caps.Roots = &RootsCapability{}
	}
	if c.o.Tasks {
		caps.Extensions = tasksCapability().Extensions
	}
	m := []byte{'{'}
	m = appendText(m, metaVersion, r.String())
	m, _ = appendValue(m, metaCapabilities, caps)
	m, _ = appendValue(m, metaClientInfo, c.o.Info)
	if c.o.LogLevel != 0 {
		m = appendText(m, metaLogLevel, c.o.LogLevel.String())
	}
	return &settled{revision: r, meta: m[1:]}
}

// settle fixes how the conversation is held from now on.
func (c *Client) settle(era *settled) {
	if era == nil {
		return
	}
	c.era.Store(era)
	if c.exchanger != nil {
		c.exchanger.Agreed(era.revision)
	}
}

// initialize shakes hands, offering a revision. An Exchanger that is refused may
// know an older way.
func (c *Client) initialize(ctx context.Context, offer Revision) error {
	era, err := c.greet(ctx, offer)
	status, ok := errors.AsType[*StatusError](err)
	older, can := c.transport.(Fallback)
	if ok && can && (status.Code == 400 || status.Code == 404 || status.Code == 405) {
		t, oldErr := older.Older(ctx)
		if oldErr != nil {
			return errors.Join(err, oldErr)
		}
		_ = c.transport.Close()
		<-c.ended
		c.run(t)
		era, err = c.greet(ctx, offer)
	}
	if err != nil {
		return err
	}
	c.settle(era)
	return c.greeted(ctx)
}

// greet is the handshake's first half.
func (c *Client) greet(ctx context.Context, offer Revision) (*settled, error) {
	raw, err := c.ask(ctx, &question{method: "initialize", era: &settled{}, params: []param{
		{"protocolVersion", offer.String()},
		{"capabilities", c.capabilities},
		{"clientInfo", c.o.Info},
	}})
	if err != nil {
		return nil, err
	}
	era := &settled{}
	if err := jsonv2.Unmarshal(raw, &era.server); err != nil {
		return nil, fmt.Errorf("initialize: %s", plainError(err))
	}
	r, ok := ParseRevision(era.server.ProtocolVersion)
	if !ok || r.Stateless() || c.o.Revision != 0 && r != c.o.Revision {
		return nil, fmt.Errorf("the server speaks %q, not %s", era.server.ProtocolVersion, offer)
	}
	era.revision = r
	return era, nil
}

// greeted is the handshake's other half, where there is one.
func (c *Client) greeted(ctx context.Context) error {
	era := c.era.Load()
	if era.revision.Stateless() {
		return nil
	}
	err := c.notify(ctx, "notifications/initialized", nil)
	if err == nil && c.o.LogLevel != 0 && era.server.Capabilities.Logging != nil {
		_, err = c.ask(ctx, &question{method: "logging/setLevel", params: []param{{"level", c.o.LogLevel}}, era: era})
	}
	return err
}

// renew begins a session that the server has forgotten anew, unless somebody else
// has done that since epoch.
func (c *Client) renew(ctx context.Context, epoch int) error {
	select {
	case c.renewal <- struct{}{}:
		defer func() { <-c.renewal }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	c.mu.Lock()
	now := c.epoch
	c.mu.Unlock()
	if now != epoch {
		return nil
	}
	era, err := c.greet(ctx, c.Revision())
	if err == nil {
		c.settle(era)
		err = c.greeted(ctx)
	}
	if err != nil {
		return fmt.Errorf("begin the session anew: %w", err)
	}
	c.mu.Lock()
	c.epoch++
	c.deaf = false
	uris := make([]string, 0, len(c.watched))
	for uri := range c.watched {
		uris = append(uris, uri)
	}
	for in := range c.inboxes {
		in.again()
	}
	c.lists.forget("")
	c.mu.Unlock()
	for _, uri := range uris {
		if _, err := c.ask(ctx, &question{method: "resources/subscribe", params: []param{{"uri", uri}}, era: era}); err != nil {
			return err
		}
	}
	return nil
}
