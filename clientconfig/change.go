package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
)

// A change is a value that is put into a file.
type change struct {
	path  []string
	value any // see member
	// ours is set if path leads to a list: it reports whether an element is one that the value replaces.
	ours func(element any) bool
	// raw is the value as text, used instead of value: it was in the file before.
	raw []byte
}

func (c *change) String() string {
	at := ""
	for _, name := range c.path {
		at = joinKey(at, name)
	}
	return at
}

// An editor changes texts of one format. It changes only the bytes of one value, and
// keeps all others: comments, order, indentation.
type editor interface {
	// find returns the text of the value that c put in, or nil.
	find(text []byte, c *change) []byte
	// put adds or replaces the value.
	put(text []byte, c *change) ([]byte, error)
	// cut removes the value, and objects and lists that then are empty.
	cut(text []byte, c *change) ([]byte, error)
}

var editors = map[string]editor{
	"json":  jsonEditor{},
	"jsonc": jsonEditor{},
	"toml":  tomlEditor{},
	"yaml":  yamlEditor{},
}

// errByHand means that a text is valid, but written in a way that the editor does not change.
var errByHand = errors.New("is written in a way that cannot be changed safely")

// putAll puts values into a text. The result has been parsed again: it has the values, and
// all others as before.
func putAll(format string, text []byte, changes []*change) ([]byte, error) {
	before, err := parse(format, text)
	if err != nil {
		return nil, err
	}
	out := text
	for _, c := range changes {
		if out, err = editors[format].put(out, c); err != nil {
			return nil, err
		}
	}
	after, err := parse(format, out)
	if err != nil || !equal(without(before, changes), without(after, changes)) {
		return nil, errByHand
	}
	for _, c := range changes {
		if c.raw == nil && !present(format, after, c) {
			return nil, errByHand
		}
	}
	return out, nil
}

// cutAll removes values from a text. before is the text from before they were put in, if it is
// known: if the file has not been changed otherwise, that is the result.
func cutAll(format string, text, before []byte, changes []*change) ([]byte, error) {
	tree, err := parse(format, text)
	if err != nil {
		return nil, err
	}
	e := editors[format]
	var again, there []*change
	for _, c := range changes {
		if _, ok := lookup(tree, c); !ok {
			continue
		}
		there = append(there, c)
		if raw := e.find(text, c); raw != nil {
			again = append(again, &change{path: c.path, ours: c.ours, raw: raw})
		}
	}
	if len(there) == 0 {
		return text, nil
	}
	if redone, err := putAll(format, before, again); err == nil && bytes.Equal(redone, text) {
		return before, nil
	}
	out := text
	for _, c := range there {
		if out, err = e.cut(out, c); err != nil {
			return nil, err
		}
	}
	after, err := parse(format, out)
	if err != nil || !equal(without(tree, changes), without(after, nil)) {
		return nil, errByHand
	}
	return out, nil
}

// present reports whether a tree has the value of a change. The tree's may have more members.
func present(format string, tree map[string]any, c *change) bool {
	have, ok := lookup(tree, c)
	return ok && contains(have, wanted(format, c))
}

// wanted returns the value of a change as it is read again, nil if it cannot be written.
func wanted(format string, c *change) any {
	text, err := editors[format].put(nil, c)
	if err != nil {
		return nil
	}
	tree, err := parse(format, text)
	if err != nil {
		return nil
	}
	want, _ := lookup(tree, c)
	return want
}

// lookup returns the value that a change replaces.
func lookup(tree map[string]any, c *change) (any, bool) {
	var v any = tree
	for _, name := range c.path {
		m, _ := v.(map[string]any)
		if v = m[name]; v == nil {
			return nil, false
		}
	}
	if c.ours == nil {
		return v, true
	}
	list, _ := v.([]any)
	i := slices.IndexFunc(list, c.ours)
	if i < 0 {
		return nil, false
	}
	return list[i], true
}

// without returns a tree without the values of changes, and without what is empty.
func without(tree map[string]any, changes []*change) map[string]any {
	v, _ := prune(tree, nil, changes).(map[string]any)
	return v
}

func prune(v any, path []string, changes []*change) any {
	is := func(c *change) bool { return slices.Equal(c.path, path) }
	switch v := v.(type) {
	case map[string]any:
		if slices.ContainsFunc(changes, func(c *change) bool { return c.ours == nil && is(c) }) {
			return nil
		}
		m := map[string]any{}
		for name, child := range v {
			if child = prune(child, append(slices.Clone(path), name), changes); child != nil {
				m[name] = child
			}
		}
		if len(m) > 0 {
			return m
		}
		return nil
	case []any:
		list := slices.DeleteFunc(slices.Clone(v), func(element any) bool {
			return slices.ContainsFunc(changes, func(c *change) bool { return c.ours != nil && is(c) && c.ours(element) })
		})
		if len(list) > 0 {
			return list
		}
		return nil
	}
	return v
}

// contains reports whether have equals want, or has more members.
func contains(have, want any) bool {
	w, ok := want.(map[string]any)
	if !ok {
		return equal(have, want)
	}
	h, ok := have.(map[string]any)
	for name := range w {
		ok = ok && contains(h[name], w[name])
	}
	return ok
}

// extra returns the members that have has and want has not.
func extra(at string, have, want any) (keys []string) {
	h, _ := have.(map[string]any)
	w, _ := want.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if _, ok := w[name]; !ok {
			keys = append(keys, joinKey(at, name))
		} else {
			keys = append(keys, extra(joinKey(at, name), h[name], w[name])...)
		}
	}
	return keys
}

// equal is reflect.DeepEqual, but NaN equals NaN.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, v := range a {
			other, ok := b[name]
			if !ok || !equal(v, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case float64:
		b, ok := b.(float64)
		return ok && (a == b || math.IsNaN(a) && math.IsNaN(b))
	}
	return reflect.DeepEqual(a, b)
}

// checkPath returns an error if something that is not an object, or not a list at the end of a path to a
// list, is in the way.
func checkPath(tree map[string]any, c *change) error {
	var v any = tree
	at := ""
	for i, name := range c.path {
		v = v.(map[string]any)[name]
		at = joinKey(at, name)
		if v == nil {
			return nil
		}
		if c.ours != nil && i == len(c.path)-1 {
			if _, ok := v.([]any); !ok {
				return fmt.Errorf("%s: wrong type: want list, got %s", at, kindOf(v))
			}
			return nil
		}
		if _, ok := v.(map[string]any); !ok {
			return fmt.Errorf("%s: wrong type: want object, got %s", at, kindOf(v))
		}
	}
	return nil
}

// newline returns the line ending of a text.
func newline(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// lineIndent returns the white space at the beginning of the line that an offset is in.
func lineIndent(text []byte, at int) string {
	line := text[bytes.LastIndexByte(text[:at], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// startsLine reports whether only white space is before an offset in its line.
func startsLine(text []byte, at int) bool {
	line := text[bytes.LastIndexByte(text[:at], '\n')+1 : at]
	return len(line) < at && strings.TrimLeft(string(line), " \t") == ""
}
