package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/internal/visible"
)

// canonical returns JSON in the form of RFC 8785, except that numbers are as they were written:
// two texts that a server may tell apart stay different.
func canonical(text json.RawMessage) (json.RawMessage, error) {
	v := jsontext.Value(text).Clone()
	if err := v.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)); err != nil {
		return nil, err
	}
	return json.RawMessage(v), nil
}

// hashDefinition returns the hash that a definition is pinned by: the SHA-256 of its canonical form, without
// those members of its _meta that are volatile.
func hashDefinition(definition json.RawMessage, volatile []string) (string, error) {
	text, err := canonical(definition)
	if err != nil {
		return "", err
	}
	if len(volatile) > 0 {
		text, err = dropMeta(text, func(name string) bool { return slices.Contains(volatile, name) })
		if err != nil {
			return "", err
		}
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// dropMeta returns an object without some members of its _meta.
func dropMeta(object json.RawMessage, drop func(name string) bool) (json.RawMessage, error) {
	return editMember(object, "_meta", func(meta json.RawMessage) (json.RawMessage, error) {
		if len(meta) == 0 || meta[0] != '{' {
			return meta, nil
		}
		out := []byte{'{'}
		for name, v := range rawjson.Members(meta) {
			if !drop(name) {
				out = appendMember(out, name, v)
			}
		}
		if len(out) == 1 {
			return nil, nil
		}
		return append(out, '}'), nil
	})
}

// editMember returns an object with one member replaced, or removed if edit returns nil. If there is
// no such member, edit is called with nil, and what it returns is added.
func editMember(object json.RawMessage, member string, edit func(json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	if len(object) == 0 || object[0] != '{' {
		return nil, errors.New("not a JSON object")
	}
	out, found := []byte{'{'}, false
	for name, v := range rawjson.Members(object) {
		if name == member {
			found = true
			var err error
			if v, err = edit(v); err != nil {
				return nil, err
			}
		}
		if v != nil {
			out = appendMember(out, name, v)
		}
	}
	if !found {
		v, err := edit(nil)
		if err != nil {
			return nil, err
		}
		if v != nil {
			out = appendMember(out, member, v)
		}
	}
	return append(out, '}'), nil
}

// appendMember appends a member to an object that is not closed yet.
func appendMember(b []byte, name string, v json.RawMessage) []byte {
	if len(b) > 1 {
		b = append(b, ',')
	}
	b, _ = jsontext.AppendQuote(b, name) // it is valid UTF-8
	return append(append(b, ':'), v...)
}

// suspicious says what in a definition a person might not see, or might take for something else: then
// nobody's first look can be trusted. It is empty if there is nothing.
func suspicious(definition json.RawMessage) string {
	d := jsontext.NewDecoder(strings.NewReader(string(definition)))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return "" // the end: it was checked before
		}
		if token.Kind() != '"' {
			continue
		}
		text := token.String()
		for _, r := range text {
			if unseen(r) {
				return fmt.Sprintf("it has the character U+%04X, which cannot be seen", r)
			}
		}
		if word := mixedWord(text); word != "" {
			return fmt.Sprintf("the word %q has letters of several scripts", word)
		}
	}
}

// spellOut returns text with every character spelled out that cannot be seen.
func spellOut(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unseen(r) {
			fmt.Fprintf(&b, `\u{%X}`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// assigned are the categories of characters that exist, but for those that cannot be seen.
var assigned = []*unicode.RangeTable{unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z}

// unseen reports whether a reader may not notice a character. Line feed and tab are seen.
func unseen(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r >= 0x20 && r < 0x7f:
		return false
	case visible.Hidden(r), r == 0xFE0E, r == 0xFE0F: // these two also where they would be in place
		return true
	case r == unicode.ReplacementChar:
		return false
	}
	return !unicode.IsOneOf(assigned, r)
}

// mixedWord returns the first word whose letters are of several scripts. Those that are written
// together count as one.
func mixedWord(text string) string {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
		script := ""
		for _, r := range word {
			switch s := scriptOf(r); {
			case s == "":
			case script == "":
				script = s
			case s != script:
				return word
			}
		}
	}
	return ""
}

func scriptOf(r rune) string {
	if r < 0x80 {
		return "Latin"
	}
	for name, table := range unicode.Scripts {
		if name == "Common" || name == "Inherited" || !unicode.Is(table, r) {
			continue
		}
		switch name {
		case "Hiragana", "Katakana", "Hangul", "Bopomofo":
			return "Han"
		}
		return name
	}
	return ""
}

// A pinIndex is the pins of an upstream, for many questions at once.
type pinIndex struct {
	byHand map[pinKey]bool
	seen   map[item]bool
}

func (u *upstream) indexPins() *pinIndex {
	x := &pinIndex{byHand: map[pinKey]bool{}, seen: map[item]bool{}}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, p := range u.pins {
		x.byHand[p.key()] = p.By != ""
		x.seen[item{string(p.Kind), p.Name}] = true
	}
	return x
}

// approved reports whether a definition was approved, and whether by a person.
func (x *pinIndex) approved(key pinKey) (ok, byHand bool) {
	byHand, ok = x.byHand[key]
	return ok, byHand
}

// whyNot says why an entry is not approved.
func (x *pinIndex) whyNot(e *entry) string {
	if x.seen[item{string(e.kind), e.name}] {
		return "its definition has changed and is not approved"
	}
	if why := suspicious(e.definition); why != "" {
		return "its definition is not approved: " + why
	}
	return "its definition is not approved"
}
