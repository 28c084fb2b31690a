package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// discoverGrace is how long to wait for discover after initialize was answered.
const discoverGrace = 100 * time.Millisecond

// maxVersions limits how often a server may redirect to other revisions.
const maxVersions = 3

// negotiate finds out which revision the server speaks and what it offers.
func (c *Client) negotiate(ctx context.Context) error {
	switch r := c.o.Revision; {
	case r.Stateless():
		e, err := c.discover(ctx, r)
		c.setEra(e)
		return err
	case r != 0:
		return c.initialize(ctx, r)
	}
	name := ""
	if n, ok := c.conn.Load().transport.(interface{ ServerName() string }); ok {
		name = n.ServerName()
	}
	if knownEras.isLegacy(name) {
		if err := c.initialize(ctx, newestLegacy); err == nil || ctx.Err() != nil || c.conn.Load().isEnded() {
			return err
		}
		knownEras.set(name, false)
	}
	err := c.probe(ctx)
	if err == nil && !c.eraUncertain {
		knownEras.set(name, !c.Revision().Stateless())
	}
	return err
}

// probe sends server/discover. A server that answers it is stateless; any error
// means that it is not. If there is no answer in time, probe also sends
// initialize, and uses whichever is answered first.
func (c *Client) probe(ctx context.Context) error {
	probeCtx, stop := context.WithCancel(ctx)
	defer stop()
	type outcome struct {
		era *negotiated
		err error
	}
	modern := make(chan outcome, 1)
	c.wg.Go(func() {
		e, err := c.discover(probeCtx, LatestRevision)
		modern <- outcome{e, err}
	})
	timeout := c.o.ProbeTimeout
	if c.exchanger != nil {
		timeout *= 3 // an HTTP server always answers, if only with an error
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case v := <-modern:
		if old, ok := errors.AsType[*legacyServerError](v.err); ok {
			c.eraUncertain = old.uncertain
			return c.initialize(ctx, old.revision)
		}
		c.setEra(v.era)
		return v.err
	case <-timer.C:
	}
	if c.exchanger != nil { // responses cannot be confused: each has its own stream
		stop()
		return c.initialize(ctx, newestLegacy)
	}
	legacy := make(chan outcome, 1)
	c.wg.Go(func() {
		e, err := c.sendInitialize(probeCtx, newestLegacy)
		legacy <- outcome{e, err}
	})
	var errs error
	for range 2 {
		var v outcome
		select {
		case v = <-modern:
		case v = <-legacy:
			if v.err != nil {
				break
			}
			// A server that was slow to start may have answered both at once.
			select {
			case m := <-modern:
				if m.err == nil {
					v = m
				}
			case <-time.After(discoverGrace):
			}
		}
		if v.err == nil {
			c.setEra(v.era)
			return c.sendInitialized(ctx)
		}
		errs = errors.Join(errs, v.err)
	}
	return errs
}

// A legacyServerError means that a server needs a handshake.
type legacyServerError struct {
	revision  Revision // revision to offer
	cause     error
	uncertain bool // the server may only be overloaded
}

func (e *legacyServerError) Error() string {
	return "the server uses an older revision: " + e.cause.Error()
}
func (e *legacyServerError) Unwrap() error { return e.cause }

// discover sends server/discover and returns the negotiated parameters.
func (c *Client) discover(ctx context.Context, r Revision) (*negotiated, error) {
	for range maxVersions {
		era := c.newStatelessEra(r)
		raw, err := c.call(ctx, &clientRequest{method: "server/discover", era: era})
		if err != nil {
			supported, modern := versionsOf(err)
			switch {
			case !modern && (isAuthError(err) || isUnreachable(err) || ctx.Err() != nil), errors.Is(err, jsonrpc.ErrClosed):
				return nil, err
			case !modern:
				status, _ := errors.AsType[*StatusError](err)
				return nil, &legacyServerError{newestLegacy, err, status != nil && (status.Code >= 500 || status.Code == 429)}
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
			return nil, &legacyServerError{newestLegacy, errors.New("unexpected result of server/discover"), false}
		}
		next, err := c.choose(*res.Versions, errors.New("the server and this client have no revision in common"))
		if err != nil {
			return nil, err
		}
		if next == r {
			era.server = initializeResult{
				ProtocolVersion: r.String(), ServerInfo: serverInfo(raw),
				Capabilities: res.Capabilities, Instructions: res.Instructions,
			}
			return era, nil
		}
		r = next
	}
	return nil, errors.New("the server keeps asking for other revisions")
}

// serverInfo returns the server info in a result.
func serverInfo(result json.RawMessage) (info Implementation) {
	_ = jsonv2.Unmarshal(member(member(result, "_meta"), metaServerInfo), &info)
	return info
}

// choose returns the latest revision in a server's list that this client may
// use.
func (c *Client) choose(supported []string, fallback error) (Revision, error) {
	for _, r := range slices.Backward(Revisions()) {
		switch {
		case !slices.Contains(supported, r.String()), c.o.Revision != 0 && r != c.o.Revision:
		case r.Stateless():
			return r, nil
		default:
			return 0, &legacyServerError{r, fallback, false}
		}
	}
	return 0, fallback
}

// versionsOf reports whether an error can only come from a stateless server,
// and which versions it names.
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

// newStatelessEra returns the parameters for stateless requests.
func (c *Client) newStatelessEra(r Revision) *negotiated {
	return &negotiated{revision: r, meta: c.statelessMeta(r, c.capabilities)}
}

// statelessMeta returns the members of the _meta of stateless requests.
func (c *Client) statelessMeta(r Revision, caps ClientCapabilities) []byte {
	if caps.Roots != nil {
		caps.Roots = &RootsCapability{}
	}
	if c.o.Tasks {
		caps.Extensions = maps.Clone(caps.Extensions)
		put(&caps.Extensions, tasksExtension, json.RawMessage("{}"))
	}
	m := []byte{'{'}
	m = appendText(m, metaVersion, r.String())
	m, _ = appendValue(m, metaCapabilities, caps)
	m, _ = appendValue(m, metaClientInfo, c.o.Info)
	if c.o.LogLevel != nil {
		m = appendText(m, metaLogLevel, logLevelOf(c.o.LogLevel.Level()).String())
	}
	return m[1:]
}

// setEra sets the parameters for all further requests.
func (c *Client) setEra(era *negotiated) {
	if era == nil {
		return
	}
	c.era.Store(era)
	if c.exchanger != nil {
		c.exchanger.Negotiated(era.revision)
	}
}

// sessionLost reports whether the server no longer knows the session of the
// given epoch. Servers should respond with 404, but many use 400, which has
// other meanings too. Therefore a ping is tried.
func (c *Client) sessionLost(ctx context.Context, epoch int) bool {
	_, err := c.call(ctx, &clientRequest{method: "ping", era: c.era.Load()})
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.epoch != epoch || isStatus(err, 404) || isStatus(err, 400)
}
