package streamable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A legacyTransport is the transport of the oldest revision: all messages from
// the server arrive on one event stream, whose first event is the URL for
// messages to the server.
type legacyTransport struct {
	client *clientTransport
	events *eventReader
	body   io.Closer
	cancel context.CancelFunc
	post   *clientTransport // for the URL of messages
	once   sync.Once
}

var _ jsonrpc.Transport = (*legacyTransport)(nil)

// Older connects with the transport of the oldest revision.
func (c *clientTransport) Older(ctx context.Context) (jsonrpc.Transport, error) {
	streamCtx, cancel := context.WithCancel(context.Background())
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	res, err := c.get(streamCtx, "", map[string][]string{})
	if err != nil {
		cancel()
		return nil, err
	}
	o := &legacyTransport{client: c, events: newEventReader(res.Body, c.limits.Bytes), body: res.Body, cancel: cancel}
	first, err := o.events.next()
	if err == nil && first.name != "endpoint" {
		err = errors.New("streamable: the stream does not start with an endpoint event")
	}
	var u *url.URL
	if err == nil {
		u, err = c.url.Parse(string(first.data))
	}
	if err == nil && (u.Scheme != c.url.Scheme || u.Host != c.url.Host || u.User != nil) {
		err = fmt.Errorf("streamable: the endpoint %s is on another server", u.Redacted())
	}
	if err != nil {
		_ = o.Close()
		return nil, err
	}
	o.post = &clientTransport{url: u, http: c.http, header: c.header, limits: c.limits, log: c.log}
	return o, nil
}

func (o *legacyTransport) Send(ctx context.Context, p jsonrpc.Packet) error {
	res, err := o.client.http.Do(o.post.request(ctx, http.MethodPost, p.Append(nil), map[string][]string{}))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return o.client.statusError(res)
	}
	_, _ = io.CopyN(io.Discard, res.Body, 4<<10)
	return nil
}

func (o *legacyTransport) Receive(context.Context) (jsonrpc.Packet, error) {
	for {
		e, err := o.events.next()
		switch {
		case errors.Is(err, context.Canceled), errors.Is(err, io.ErrUnexpectedEOF):
			return jsonrpc.Packet{}, io.EOF
		case err != nil:
			return jsonrpc.Packet{}, err
		case len(e.data) > 0 && (e.name == "" || e.name == "message"):
			return jsonrpc.Decode(e.data, o.client.limits)
		}
	}
}

func (o *legacyTransport) Close() error {
	o.once.Do(func() {
		o.cancel()
		_ = o.body.Close()
		if o.client.ownTransport != nil {
			o.client.ownTransport.CloseIdleConnections()
		}
	})
	return nil
}
