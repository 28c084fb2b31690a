package pgtest

import (
	"net"
	"sync"
	"testing"
)

// A Cutter is a proxy in front of a cluster that loses connections when it is told to: both
// sides find theirs closed, and neither knows what the other one got.
type Cutter struct {
	to       string
	listener net.Listener

	mu    sync.Mutex
	judge func(Piece) int
	conns int
	cuts  int
	open  sync.WaitGroup
}

// A Piece is what one side has sent and the other has not yet got. A statement or a COMMIT
// of ours is one piece, and so is its answer unless it is long.
type Piece struct {
	// Conn is the number of the connection, from 1.
	Conn int
	// Answer is set for what the server sends.
	Answer bool
	Bytes  []byte
}

// Whole lets all of a piece pass, and the connection go on.
const Whole = -1

// Cutter starts a proxy for the cluster, which ends with the test.
func (c *Cluster) Cutter(t testing.TB) *Cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Cutter{to: c.Addr(), listener: l}
	p.open.Go(p.run)
	t.Cleanup(func() {
		l.Close()
		p.open.Wait()
	})
	return p
}

// DSN is that of a database of the cluster, through the proxy.
func (p *Cutter) DSN(user, db string) string {
	return "postgres://" + user + "@" + p.listener.Addr().String() + "/" + db + "?sslmode=disable"
}

// Judge has f decide about each piece from now on: how many of its bytes pass before its
// connection is cut, or Whole. Nil lets everything pass. Calls of f do not overlap.
func (p *Cutter) Judge(f func(Piece) int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.judge = f
}

// Cuts returns how many connections were cut.
func (p *Cutter) Cuts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

func (p *Cutter) run() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.to)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns++
		no := p.conns
		p.mu.Unlock()
		both := func() {
			client.Close()
			server.Close()
		}
		p.open.Go(func() {
			defer both()
			p.pass(server, client, Piece{Conn: no})
		})
		p.open.Go(func() {
			defer both()
			p.pass(client, server, Piece{Conn: no, Answer: true})
		})
	}
}

// pass copies from one side to the other until either ends or the connection is cut.
func (p *Cutter) pass(to, from net.Conn, piece Piece) {
	b := make([]byte, 1<<16)
	for {
		n, err := from.Read(b)
		if n > 0 {
			piece.Bytes = b[:n]
			most := p.ask(piece)
			if most != Whole {
				_, _ = to.Write(b[:min(n, most)])
				return
			}
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *Cutter) ask(piece Piece) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.judge == nil {
		return Whole
	}
	most := p.judge(piece)
	if most != Whole {
		p.cuts++
	}
	return most
}
