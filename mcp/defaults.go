package mcp

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/bossman-dev/bossman/internal/rawjson"
)

// A defaultsNode adds the defaults of a schema to values.
type defaultsNode struct {
	members    []memberDefault
	additional *defaultsNode // for the other members of an object
	items      *defaultsNode
}

// A memberDefault is a member of an object that has a default, or contains one.
type memberDefault struct {
	name  string
	value json.RawMessage // nil if it has none
	below *defaultsNode
}

// newDefaults returns nil if the schema has no defaults.
func newDefaults(schema json.RawMessage) *defaultsNode {
	if !bytes.Contains(schema, []byte(`"default"`)) {
		return nil
	}
	c := defaultsCompiler{root: schema, refs: map[string]*defaultsNode{}}
	return c.compile(schema)
}

type defaultsCompiler struct {
	root json.RawMessage
	refs map[string]*defaultsNode
}

func (c *defaultsCompiler) compile(schema json.RawMessage) *defaultsNode {
	n := &defaultsNode{}
	for name, v := range rawjson.Members(schema) {
		switch name {
		case "$ref":
			return c.reference(rawjson.Text(v))
		case "properties":
			for property, sub := range rawjson.Members(v) {
				m := memberDefault{strings.Clone(property), member(sub, "default"), c.compile(sub)}
				if m.value != nil || m.below != nil {
					n.members = append(n.members, m)
				}
			}
		case "additionalProperties":
			n.additional = c.compile(v)
		case "items":
			n.items = c.compile(v)
		case "anyOf":
			if other := notNull(v); other != nil {
				return c.compile(other)
			}
		}
	}
	if n.members == nil && n.additional == nil && n.items == nil {
		return nil
	}
	return n
}

// reference returns the node of a definition, which may contain itself.
func (c *defaultsCompiler) reference(ref string) *defaultsNode {
	name, ok := strings.CutPrefix(ref, "#/$defs/")
	if !ok {
		return nil
	}
	if n, ok := c.refs[name]; ok {
		return n
	}
	n := &defaultsNode{}
	c.refs[name] = n
	if found := c.compile(member(member(c.root, "$defs"), name)); found != nil {
		*n = *found
	}
	return n
}

// apply returns the value with the defaults of missing members, in all objects
// that are present. It does not modify the value.
func (n *defaultsNode) apply(v json.RawMessage) json.RawMessage {
	if n == nil || len(v) == 0 {
		return v
	}
	var e edits
	switch {
	case v[0] == '[' && n.items != nil:
		for item := range rawjson.Elements(v) {
			e.replace(v, item, n.items.apply(item))
		}
	case v[0] == '{' && (n.members != nil || n.additional != nil):
		n.applyMembers(&e, v)
	}
	return e.finish(v)
}

func (n *defaultsNode) applyMembers(e *edits, v json.RawMessage) {
	var found map[string]bool
	count := 0
	for name, value := range rawjson.Members(v) {
		count++
		below := n.additional
		for i := range n.members {
			if n.members[i].name == name {
				below = n.members[i].below
				put(&found, n.members[i].name, true)
			}
		}
		e.replace(v, value, below.apply(value))
	}
	end := bytes.LastIndexByte(v, '}')
	for _, m := range n.members {
		if m.value == nil || found[m.name] {
			continue
		}
		e.insert(v, end)
		if count++; count > 1 {
			e.out = append(e.out, ',')
		}
		e.out = append(append(appendString(e.out, m.name), ':'), m.value...)
	}
}

// edits is a copy of a text with changes, which are made in order.
type edits struct {
	out  []byte
	done int // how much of the text is in out
}

// replace replaces old, a part of v.
func (e *edits) replace(v, old, by json.RawMessage) {
	if len(old) == 0 || &old[0] == &by[0] {
		return
	}
	start := cap(v) - cap(old)
	e.out = append(append(e.out, v[e.done:start]...), by...)
	e.done = start + len(old)
}

// insert copies v up to a position, so that text can be appended to e.out.
func (e *edits) insert(v json.RawMessage, at int) {
	e.out = append(e.out, v[e.done:at]...)
	e.done = at
}

func (e *edits) finish(v json.RawMessage) json.RawMessage {
	if e.out == nil {
		return v
	}
	return append(e.out, v[e.done:]...)
}
