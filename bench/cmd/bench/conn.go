package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// A conn is a small HTTP/1.1 client on one connection. The one in net/http would
// take more of the shared cores than the servers it measures.
type conn struct {
	addr    string
	c       net.Conn
	r       *bufio.Reader
	body    []byte
	session string // the first Mcp-Session-Id seen
	content string // the last Content-Type seen
}

func dial(addr string) (*conn, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &conn{addr: addr, c: c, r: bufio.NewReaderSize(c, 16<<10)}, nil
}

// close drops the connection; there is nothing left on it to lose.
func (c *conn) close() { _ = c.c.Close() }

// open makes a session, as legacy revisions have it.
func (c *conn) open() error {
	c.session = ""
	status, body, err := c.do(c.request("", []byte(initialize)))
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if status != http.StatusOK || c.session == "" {
		return fmt.Errorf("initialize: status %d, session %q: %.200q", status, c.session, body)
	}
	status, body, err = c.do(c.request(c.headers(legacy, ""), []byte(initialized)))
	if err != nil {
		return fmt.Errorf("initialized: %w", err)
	}
	if status != http.StatusAccepted {
		return fmt.Errorf("initialized: status %d: %.200q", status, body)
	}
	return nil
}

// headers returns what a call of the tool carries beside the usual.
func (c *conn) headers(proto, tool string) string {
	h := "MCP-Protocol-Version: " + proto + "\r\n"
	if proto == modern {
		return h + "Mcp-Method: tools/call\r\nMcp-Name: " + tool + "\r\n"
	}
	return h + "Mcp-Session-Id: " + c.session + "\r\n"
}

func (c *conn) request(headers string, body []byte) []byte {
	return append([]byte("POST /mcp HTTP/1.1\r\nHost: "+c.addr+"\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nUser-Agent: bench\r\n"+headers+
		"Content-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"), body...)
}

// call wraps a call of the tool in a request whose ID can be changed as well.
func (c *conn) call(proto string, m message) message {
	req := c.request(c.headers(proto, m.tool), m.bytes)
	return message{bytes: req, id: len(req) - len(m.bytes) + m.id}
}

// do sends a request and reads the answer. The body is valid until the next.
func (c *conn) do(request []byte) (status int, body []byte, err error) {
	if _, err := c.c.Write(request); err != nil {
		return 0, nil, err
	}
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return 0, nil, err
	}
	if len(line) < 12 {
		return 0, nil, fmt.Errorf("short status line %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, nil, err
	}
	length, chunked, err := c.readHeader()
	if err != nil {
		return 0, nil, err
	}
	c.body = c.body[:0]
	if chunked {
		err = c.readChunks()
	} else {
		err = c.readBody(length)
	}
	return status, c.body, err
}

func (c *conn) readHeader() (length int, chunked bool, err error) {
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return 0, false, err
		}
		if len(line) <= 2 {
			return length, chunked, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case is(name, "content-length"):
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, false, err
			}
		case is(name, "transfer-encoding"):
			chunked = true
		case is(name, "mcp-session-id"):
			if c.session == "" {
				c.session = string(value)
			}
		case is(name, "content-type"):
			if c.content != string(value) {
				c.content = string(value)
			}
		}
	}
}

func is(name []byte, want string) bool {
	return len(name) == len(want) && strings.EqualFold(string(name), want)
}

func (c *conn) readChunks() error {
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return err
		}
		if err := c.readBody(int(n)); err != nil {
			return err
		}
		if _, err := c.r.Discard(2); err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
	}
}

func (c *conn) readBody(n int) error {
	at := len(c.body)
	c.body = slices.Grow(c.body, n)[:at+n]
	_, err := io.ReadFull(c.r, c.body[at:])
	return err
}
