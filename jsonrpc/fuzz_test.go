package jsonrpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/jsonrpc"
)

// wide is limits that no fuzz input passes, except in the length of a number.
var wide = jsonrpc.Limits{Bytes: 1 << 30, Depth: 9000, Nodes: 1 << 30, Batch: 1 << 30}

// judge says what jsontext makes of a text: not JSON, JSON with a member twice,
// or fine.
func judge(data []byte) string {
	switch v := jsontext.Value(data); {
	case v.IsValid():
		return "fine"
	case v.IsValid(jsontext.AllowDuplicateNames(true)):
		return "twice"
	}
	return "not JSON"
}

// longNumber reports whether there is a number beyond the limit in data, or
// something that looks like one.
func longNumber(data []byte) bool {
	n := 0
	for _, c := range data {
		if bytes.IndexByte([]byte("0123456789+-.eE"), c) < 0 {
			n = 0
		} else if n++; n > 1000 {
			return true
		}
	}
	return false
}

// FuzzDecode holds Decode and jsontext equal: what is not JSON for one is not
// for the other. What is accepted goes out on one line and comes back the same.
func FuzzDecode(f *testing.F) {
	for _, c := range hostile {
		if len(c.in) < 1<<12 {
			f.Add([]byte(c.in))
		}
	}
	for _, n := range []int{16, 17, 40} {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"k%d":%d,`, i, i)
		}
		f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"a","params":{` + b.String() + `"\u006b3":0}}`))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		// Usual limits must not make anything acceptable, nor break.
		_, strictErr := jsonrpc.Decode(bytes.Clone(data), jsonrpc.Limits{Depth: 3, Nodes: 12, Batch: 2})

		p, err := jsonrpc.Decode(bytes.Clone(data), wide)
		if err != nil && strictErr == nil {
			t.Fatalf("refused with wide limits (%v), accepted with narrow ones", err)
		}
		verdict := judge(data)
		if err != nil {
			bad, ok := errors.AsType[*jsonrpc.Malformed](err)
			if !ok {
				t.Fatalf("Decode = %T %v, want *Malformed", err, err)
			}
			checkMalformed(t, bad)
			if longNumber(data) {
				return
			}
			if notJSON := bad.Err.Code == jsonrpc.CodeParse; notJSON != (verdict == "not JSON") {
				t.Fatalf("Decode says %d %s, jsontext says %s", bad.Err.Code, bad.Err.Message, verdict)
			}
			return
		}
		// In a batch, a member that stands twice spoils its element only.
		if verdict == "not JSON" || verdict == "twice" && !spoiled(p) {
			t.Fatalf("Decode accepts what jsontext calls %s", verdict)
		}
		if spoiled(p) {
			for _, e := range p.Batch {
				if e.Malformed != nil {
					checkMalformed(t, e.Malformed)
				}
			}
			return
		}
		line := p.Append(nil)
		if bytes.ContainsAny(line, "\n\r") {
			t.Fatalf("Append gives more than one line: %q", line)
		}
		again, err := jsonrpc.Decode(bytes.Clone(line), wide)
		if err != nil {
			t.Fatalf("Decode(%s) = %v", line, err)
		}
		if !same(p, again) {
			t.Fatalf("%s came back as %s", line, again.Append(nil))
		}
		if p.Message != nil {
			checkMembers(t, data, p.Message)
		}
	})
}

func checkMalformed(t *testing.T, bad *jsonrpc.Malformed) {
	if bad.ID.IsZero() {
		return
	}
	if id, err := jsonrpc.ParseID([]byte(bad.ID.String())); err != nil || id != bad.ID {
		t.Fatalf("refused with an id that is none: %q", bad.ID)
	}
}

func spoiled(p jsonrpc.Packet) bool {
	for _, e := range p.Batch {
		if e.Malformed != nil {
			return true
		}
	}
	return false
}

// same compares packets; white space between tokens does not count.
func same(a, b jsonrpc.Packet) bool {
	compact := func(raw json.RawMessage) json.RawMessage {
		if raw == nil {
			return nil
		}
		v := jsontext.Value(bytes.Clone(raw))
		if v.Compact() != nil {
			return raw
		}
		return json.RawMessage(v)
	}
	plain := func(p jsonrpc.Packet) (ms []jsonrpc.Message) {
		all := p.Batch
		if p.Message != nil {
			all = []jsonrpc.Element{{Message: p.Message}}
		}
		for _, e := range all {
			m := *e.Message
			m.Params, m.Result = compact(m.Params), compact(m.Result)
			if m.Error != nil {
				e := *m.Error
				e.Data = compact(e.Data)
				m.Error = &e
			}
			ms = append(ms, m)
		}
		return ms
	}
	return reflect.DeepEqual(plain(a), plain(b)) && (a.Message == nil) == (b.Message == nil)
}

// checkMembers compares Members, and the message, with a reading by jsontext.
func checkMembers(t *testing.T, data []byte, m *jsonrpc.Message) {
	whole := slowMembers(t, data)
	if got := fastMembers(data); !reflect.DeepEqual(got, whole) {
		t.Fatalf("Members = %q, jsontext reads %q", got, whole)
	}
	if len(m.Params) > 0 && m.Params[0] == '{' {
		if got, want := fastMembers(m.Params), slowMembers(t, m.Params); !reflect.DeepEqual(got, want) {
			t.Fatalf("Members = %q, jsontext reads %q", got, want)
		}
	}
	for _, kv := range whole {
		switch k, v := kv[0], kv[1]; {
		case k == "id" && v != "null" && m.ID.String() != v,
			k == "params" && v != "null" && string(m.Params) != v,
			k == "result" && string(m.Result) != v:
			t.Fatalf("%s is %s in the text, the message has %+v", k, v, m)
		}
	}
}

func fastMembers(object []byte) (all [][2]string) {
	for k, v := range rawjson.Members(object) {
		all = append(all, [2]string{k, string(v)})
	}
	return all
}

func slowMembers(t *testing.T, object []byte) (all [][2]string) {
	d := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := d.ReadToken(); err != nil {
		t.Fatal(err)
	}
	for d.PeekKind() == '"' {
		k, err := d.ReadToken()
		if err != nil {
			t.Fatal(err)
		}
		name := k.String()
		v, err := d.ReadValue()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, [2]string{name, string(v)})
	}
	return all
}

// FuzzID: an id is valid JSON on one line, echoes byte for byte, and names the
// same request after a journey.
func FuzzID(f *testing.F) {
	for _, s := range []string{`0`, `-1`, `-0`, `1.0`, `1e3`, `""`, `"a"`, `"a" `, `"\u0000"`, `"\ud800"`, `null`, `true`, "\"\xff\"", ` 1`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		msg := append(append([]byte(`{"jsonrpc":"2.0","method":"m","id":`), text...), '}')
		p, decodeErr := jsonrpc.Decode(msg, wide)
		id, err := jsonrpc.ParseID(text)
		if err != nil {
			if !id.IsZero() {
				t.Fatalf("ParseID = %v with %v", id, err)
			}
			// Only white space around an id makes the difference.
			if decodeErr == nil && p.Message.IsRequest() && p.Message.ID.String() == string(text) {
				t.Fatalf("Decode takes %q for an id, ParseID says %v", text, err)
			}
			return
		}
		if id.String() != string(text) || bytes.ContainsAny(text, "\n\r") || !jsontext.Value(text).IsValid() {
			t.Fatalf("ParseID(%q) = %q", text, id)
		}
		if decodeErr != nil || p.Message.ID != id {
			t.Fatalf("ParseID = %v, Decode = %v", id, decodeErr)
		}
		again, err := jsonrpc.Decode(p.Append(nil), wide)
		if err != nil || again.Message.ID != id {
			t.Fatalf("id %s came back as %v, %v", id, again.Message, err)
		}
	})
}

// FuzzLines: however a stream is cut into reads, Lines makes of it what cutting
// at line ends would.
func FuzzLines(f *testing.F) {
	const good = `{"jsonrpc":"2.0","id":1,"method":"a"}`
	f.Add([]byte(good+"\n"), []byte{1})
	f.Add([]byte(good+"\r\n\r\n \n"+good), []byte{3, 200, 1})
	f.Add([]byte("x\n"+strings.Repeat("y", 300)+"\n"+good+"\n"), []byte{7})
	f.Add([]byte(strings.Repeat(" ", 200)+"\n"+strings.Repeat("z", 100)+"\r\n"+strings.Repeat("z", 101)+"\r\n"), []byte{100, 1})
	f.Add([]byte("{"+strings.Repeat("0", 100)), []byte{48})
	f.Add([]byte(`[1,2]`+"\n"+`{"jsonrpc":`), []byte{255})
	f.Fuzz(func(t *testing.T, stream, cuts []byte) {
		limits := jsonrpc.Limits{Bytes: 100}
		var want []string
		rest := stream
		for len(rest) > 0 {
			line, tail, ended := bytes.Cut(rest, []byte("\n"))
			rest = tail
			switch body := bytes.TrimSuffix(line, []byte("\r")); {
			case len(body) > limits.Bytes:
				want = append(want, "long")
			case len(bytes.Trim(line, " \t\r")) == 0:
			default:
				p, err := jsonrpc.Decode(bytes.Clone(bytes.Trim(line, " \t\r")), limits)
				if bad, ok := errors.AsType[*jsonrpc.Malformed](err); ok && !ended && bad.Err.Code == jsonrpc.CodeParse {
					bad.Silent = true
				}
				want = append(want, outcome(p, err))
			}
		}
		tr := jsonrpc.Lines(&choppy{data: stream, cuts: cuts}, io.Discard, limits)
		var got []string
		for range len(stream) + 2 {
			p, err := tr.Receive(context.Background())
			if err == io.EOF {
				break
			}
			if bad, ok := errors.AsType[*jsonrpc.Malformed](err); ok && strings.Contains(bad.Err.Message, "larger than") {
				got = append(got, "long")
				continue
			}
			got = append(got, outcome(p, err))
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("Lines gives\n%q\nwant\n%q", got, want)
		}
	})
}

func outcome(p jsonrpc.Packet, err error) string {
	if bad, ok := errors.AsType[*jsonrpc.Malformed](err); ok {
		return fmt.Sprintf("refused %d %q %v", bad.Err.Code, bad.ID, bad.Silent)
	}
	if err != nil {
		return "error " + err.Error()
	}
	return string(p.Append(nil))
}

// choppy gives data in pieces as long as cuts say, in turn.
type choppy struct {
	data, cuts []byte
	turn       int
}

func (c *choppy) Read(b []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := len(c.data)
	if len(c.cuts) > 0 {
		n = int(c.cuts[c.turn%len(c.cuts)])%128 + 1
		c.turn++
	}
	n = copy(b, c.data[:min(n, len(c.data))])
	c.data = c.data[n:]
	return n, nil
}
