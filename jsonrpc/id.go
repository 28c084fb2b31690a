package jsonrpc

import (
	"errors"
	"strconv"
)

// Bounds on an id. A peer that needs longer ones is not one to keep state for.
const (
	maxIDDigits = 64
	maxIDBytes  = 256
)

// An ID names one request among those its sender has in flight. It keeps the
// JSON text it came as, so an answer echoes it byte for byte: 1 and "1" are two
// ids, and a number larger than any Go integer survives. IDs are comparable.
// The zero ID means "no id".
type ID struct {
	text string
}

// IntID is the id written as the number n.
func IntID(n int64) ID { return ID{strconv.FormatInt(n, 10)} }

// StringID is the id written as the string s; invalid UTF-8 becomes U+FFFD.
func StringID(s string) ID {
	return ID{string(appendText(nil, s))}
}

var errID = errors.New("an id is a string of at most 256 bytes, or an integer written without fraction or exponent")

// ParseID reads an id from JSON text. Integers are accepted by form, not by
// value (0 or -?[1-9][0-9]*): 1.0 and -0 would be a second text for the same
// number. Null is not an id.
func ParseID(text []byte) (ID, error) {
	if len(text) == 0 {
		return ID{}, errID
	}
	if text[0] == '"' {
		s := scanner{data: text}
		if _, err := s.text(); err != nil || s.i != len(text) || s.i > maxIDBytes {
			return ID{}, errID
		}
		return ID{string(text)}, nil
	}
	return parseIntID(text)
}

// parseID reads an id from text that is already known to be valid JSON.
func parseID(text []byte) (ID, error) {
	if len(text) > 0 && text[0] == '"' {
		if len(text) > maxIDBytes {
			return ID{}, errID
		}
		return ID{string(text)}, nil
	}
	return parseIntID(text)
}

func parseIntID(text []byte) (ID, error) {
	digits := text
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
		if len(digits) > 0 && digits[0] == '0' {
			return ID{}, errID
		}
	}
	if len(digits) == 0 || len(digits) > maxIDDigits || digits[0] == '0' && len(digits) > 1 {
		return ID{}, errID
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return ID{}, errID
		}
	}
	return ID{string(text)}, nil
}

// IsZero reports whether there is no id.
func (id ID) IsZero() bool { return id.text == "" }

// String is the id's JSON text.
func (id ID) String() string { return id.text }

// MarshalJSON writes the id as it came; no id is null.
func (id ID) MarshalJSON() ([]byte, error) {
	if id.IsZero() {
		return []byte("null"), nil
	}
	return []byte(id.text), nil
}

// UnmarshalJSON reads an id as ParseID does.
func (id *ID) UnmarshalJSON(text []byte) error {
	v, err := ParseID(text)
	if err == nil {
		*id = v
	}
	return err
}
