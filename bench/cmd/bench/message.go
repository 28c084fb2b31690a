package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The two revisions measured: the last with a handshake, the first without.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

const (
	initialize  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + legacy + `","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	identity    = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"` + modern + `","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
)

// firstID has nine digits, as have all that follow it: an ID is written over the
// one before.
const firstID = 100_000_000

// A message is a call of the tool echo whose ID can be changed in place.
type message struct {
	bytes []byte
	id    int // where the ID stands
	tool  string
}

// newCall makes a call of a tool, default echo, with size bytes of text.
func newCall(proto string, size int, tool string) message {
	tool = cmp.Or(tool, "echo")
	text := strings.Repeat("abcdefghijklmnopqrstuvwxyz012345", (size+31)/32)[:size]
	meta := ""
	if proto == modern {
		meta = identity
	}
	head := `{"jsonrpc":"2.0","id":`
	tail := `,"method":"tools/call","params":{"name":"` + tool + `","arguments":{"text":"` + text + `"}` + meta + `}}`
	return message{bytes: []byte(head + strconv.Itoa(firstID) + tail), id: len(head), tool: tool}
}

func (m message) setID(n int) {
	for i := 8; i >= 0; i-- {
		m.bytes[m.id+i] = byte('0' + n%10)
		n /= 10
	}
}

// answered returns the ID of an answer with a result, and whether it is one. It
// looks no closer than it must: the client shares the cores with the server.
func answered(line []byte) (id int, ok bool) {
	head := line[:min(len(line), 250)]
	if !bytes.Contains(head, []byte(`"result"`)) {
		return 0, false
	}
	_, rest, ok := bytes.Cut(head[:min(len(head), 64)], []byte(`"id":`))
	if !ok {
		i := bytes.LastIndex(line, []byte(`"id":`))
		if i < 0 {
			return 0, false
		}
		rest = line[i+len(`"id":`):]
	}
	for _, c := range rest {
		if c < '0' || c > '9' {
			break
		}
		id = id*10 + int(c-'0')
	}
	return id, true
}

// checkAnswer decodes an answer in full. Each cell begins with it, outside the
// measured time.
func checkAnswer(body []byte, size int) error {
	if _, data, ok := bytes.Cut(body, []byte("data: {")); ok && !bytes.HasPrefix(body, []byte("{")) {
		data, _, _ = bytes.Cut(data, []byte("\n"))
		body = append([]byte("{"), data...)
	}
	var answer struct {
		Result *struct {
			IsError bool
			Content []struct{ Type, Text string }
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("%w in %.300q", err, body)
	}
	r := answer.Result
	if r == nil || r.IsError || len(r.Content) != 1 || len(r.Content[0].Text) != size {
		return fmt.Errorf("wrong answer %.300q", body)
	}
	return nil
}

var errNoServerInfo = errors.New("no serverInfo in the answer to initialize")
