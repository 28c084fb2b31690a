package mcp

import (
	"context"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
)

// initialize performs the handshake, offering a revision. If the server
// refuses, it tries the older transport of a Fallback.
func (c *Client) initialize(ctx context.Context, offer Revision) error {
	era, err := c.sendInitialize(ctx, offer)
	status, ok := errors.AsType[*StatusError](err)
	conn := c.conn.Load()
	older, can := conn.transport.(fallback)
	if ok && can && (status.Code == 400 || status.Code == 404 || status.Code == 405) {
		t, oldErr := older.Older(ctx)
		if oldErr != nil {
			return errors.Join(err, oldErr)
		}
		_ = conn.transport.Close()
		<-conn.ended
		c.run(t)
		era, err = c.sendInitialize(ctx, offer)
	}
	if err != nil {
		return err
	}
	c.setEra(era)
	return c.sendInitialized(ctx)
}

// sendInitialize sends initialize, the first half of the handshake.
func (c *Client) sendInitialize(ctx context.Context, offer Revision) (*negotiated, error) {
	raw, err := c.call(ctx, &clientRequest{method: "initialize", era: &negotiated{}, params: []param{
		{"protocolVersion", offer.String()},
		{"capabilities", c.capabilities},
		{"clientInfo", c.o.Info},
	}})
	if err != nil {
		return nil, err
	}
	era := &negotiated{}
	if err := jsonv2.Unmarshal(raw, &era.server); err != nil {
		return nil, fmt.Errorf("initialize: %s", plainError(err))
	}
	r, ok := ParseRevision(era.server.ProtocolVersion)
	if !ok || r.Stateless() || c.o.Revision != 0 && r != c.o.Revision {
		return nil, fmt.Errorf("the server speaks %q, want %s", era.server.ProtocolVersion, offer)
	}
	era.revision = r
	return era, nil
}

// sendInitialized completes the handshake. It does nothing in the stateless
// era.
func (c *Client) sendInitialized(ctx context.Context) error {
	era := c.era.Load()
	if era.revision.Stateless() {
		return nil
	}
	err := c.notify(ctx, "notifications/initialized", nil)
	if err == nil && c.o.LogLevel != nil && era.server.Capabilities.Logging != nil {
		_, err = c.call(ctx, &clientRequest{method: "logging/setLevel", params: []param{{"level", logLevelOf(c.o.LogLevel.Level()).String()}}, era: era})
	}
	return err
}

// renewSession starts a new session if the server has lost the one of the given
// epoch, unless another goroutine has done so.
func (c *Client) renewSession(ctx context.Context, epoch int) error {
	select {
	case c.renewLock <- struct{}{}:
		defer func() { <-c.renewLock }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	c.mu.Lock()
	now := c.epoch
	c.mu.Unlock()
	if now != epoch {
		return nil
	}
	era, err := c.sendInitialize(ctx, c.Revision())
	if err == nil {
		c.setEra(era)
		err = c.sendInitialized(ctx)
	}
	if err != nil {
		return fmt.Errorf("renew session: %w", err)
	}
	c.mu.Lock()
	c.epoch++
	c.streamLost = false
	uris := make([]string, 0, len(c.subscribed))
	for uri := range c.subscribed {
		uris = append(uris, uri)
	}
	for in := range c.inboxes {
		in.putAll()
	}
	c.lists.invalidate("")
	c.mu.Unlock()
	for _, uri := range uris {
		if _, err := c.call(ctx, &clientRequest{method: "resources/subscribe", params: []param{{"uri", uri}}, era: era}); err != nil {
			return err
		}
	}
	return nil
}
