package main

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"sync/atomic"
)

// A wire is a proxy in front of PostgreSQL that counts what a client sends: statements, and
// the round trips in which it sends them.
type wire struct {
	to                string
	listener          net.Listener
	statements, trips atomic.Int64
}

func newWire(to string) (*wire, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &wire{to: to, listener: l}
	go w.run()
	return w, nil
}

func (w *wire) close() { _ = w.listener.Close() } // it only listens

// dsn is that of a database behind the proxy.
func (w *wire) dsn(db string) string {
	return "postgres://postgres@" + w.listener.Addr().String() + "/" + db + "?sslmode=disable"
}

func (w *wire) run() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", w.to)
		if err != nil {
			client.Close()
			continue
		}
		go func() {
			_, _ = io.Copy(client, server) // until either side ends
			client.Close()
		}()
		go func() {
			_ = w.pass(server, bufio.NewReader(client)) // the same
			server.Close()
		}()
	}
}

// pass copies the messages of a client. The first has no type.
func (w *wire) pass(to io.Writer, from io.Reader) error {
	for head := make([]byte, 4); ; head = make([]byte, 5) {
		if _, err := io.ReadFull(from, head); err != nil {
			return err
		}
		if len(head) == 5 {
			switch head[0] {
			case 'Q':
				w.statements.Add(1)
				w.trips.Add(1)
			case 'E': // Execute
				w.statements.Add(1)
			case 'S': // Sync, after which the client waits
				w.trips.Add(1)
			}
		}
		if _, err := to.Write(head); err != nil {
			return err
		}
		size := int64(binary.BigEndian.Uint32(head[len(head)-4:])) - 4
		if _, err := io.CopyN(to, from, size); err != nil {
			return err
		}
	}
}
