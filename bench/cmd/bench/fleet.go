package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/store/postgres"
)

// A fleet is the replicas of a server as a load balancer shows them: any one may get
// the next request.
type fleet struct {
	replicas []*replica
	turn     atomic.Int64
	id       atomic.Int64

	mu   sync.Mutex
	free map[string][]*conn
}

// startFleet starts n replicas.
func startFleet(o *options, dsn string, n int) (*fleet, error) {
	f := &fleet{free: map[string][]*conn{}}
	for range n {
		r, err := startReplica(o, dsn)
		if err != nil {
			f.stop()
			return nil, err
		}
		f.replicas = append(f.replicas, r)
	}
	return f, nil
}

func (f *fleet) stop() {
	for _, r := range f.replicas {
		r.stop()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, conns := range f.free {
		for _, c := range conns {
			c.close()
		}
	}
	f.free = map[string][]*conn{}
}

// call sends a request of the modern revision to one of the replicas, and gives the
// answer. The params lack their closing brace.
func (f *fleet) call(key auth.Secret, method, name string, params []byte) ([]byte, error) {
	addr := f.replicas[int(f.turn.Add(1))%len(f.replicas)].addr
	c, err := f.take(addr)
	if err != nil {
		return nil, err
	}
	body, err := c.ask(key, method, name, params, int(f.id.Add(1)))
	if err != nil {
		c.close()
		return nil, err
	}
	body = bytes.Clone(body)
	f.mu.Lock()
	f.free[addr] = append(f.free[addr], c)
	f.mu.Unlock()
	return body, answerError(body)
}

func (f *fleet) take(addr string) (*conn, error) {
	f.mu.Lock()
	if n := len(f.free[addr]); n > 0 {
		c := f.free[addr][n-1]
		f.free[addr] = f.free[addr][:n-1]
		f.mu.Unlock()
		return c, nil
	}
	f.mu.Unlock()
	return dial(addr)
}

// ask is do for one call of the modern revision.
func (c *conn) ask(key auth.Secret, method, name string, params []byte, id int) ([]byte, error) {
	header := "MCP-Protocol-Version: " + modern + "\r\nMcp-Method: " + method + "\r\nAuthorization: Bearer " + key.Reveal() + "\r\n"
	if name != "" {
		header += "Mcp-Name: " + name + "\r\n"
	}
	message := `{"jsonrpc":"2.0","id":` + strconv.Itoa(id) + `,"method":"` + method + `","params":` + string(params) + identity + `}}`
	status, body, err := c.do(c.request(header, []byte(message)))
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s %s: status %d: %.300s", method, name, status, body)
	}
	return body, err
}

var errRefused = errors.New("refused")

// answerError tells whether an answer is a refusal.
func answerError(body []byte) error {
	if bytes.Contains(body, []byte(`"isError":true`)) || !bytes.Contains(body, []byte(`"result"`)) {
		return fmt.Errorf("%w: %.400s", errRefused, body)
	}
	return nil
}

// newKeys makes keys of agents, one a person, for a project.
func newKeys(ctx context.Context, s *postgres.Store, project string, n int) ([]auth.Secret, error) {
	a := auth.New(s, nil)
	keys, errs := make([]auth.Secret, n), make([]error, n)
	var wg sync.WaitGroup
	const hands = 8
	for h := range hands {
		wg.Go(func() {
			for i := h; i < n; i += hands {
				_, keys[i], errs[i] = a.CreateKey(ctx, auth.NewKey{Owner: "agent " + strconv.Itoa(i), Project: project, Role: auth.Worker})
			}
		})
	}
	wg.Wait()
	return keys, errors.Join(errs...)
}
