package jsonrpc

import (
	"errors"
	"strconv"
)

// Limits on an id, which is kept while its request is in flight.
const (
	maxIDDigits = 64
	maxIDBytes  = 256
)

// An ID identifies a request among those that its sender has in flight. It
// holds the JSON text as received, so that a response echoes it byte for byte:
// 1 and "1" are different ids, and a number larger than any Go integer is
// preserved. IDs are comparable. The zero ID means "no id".
type ID struct {
	text string
}

// IntID returns the id written as the number n.
func IntID(n int64) ID { return ID{strconv.FormatInt(n, 10)} }

// StringID returns the id written as the string s, with invalid UTF-8 replaced
// by U+FFFD.
func StringID(s string) ID {
	return ID{string(appendText(nil, s))}
}

var errID = errors.New("id must be a string of at most 256 bytes or an integer without fraction or exponent")

// ParseID parses an id from JSON text. Integers must match 0 or -?[1-9][0-9]*,
// because 1.0 and -0 would be a second text for the same number. Null is not an
// id.
func ParseID(text []byte) (ID, error) {
	if len(text) == 0 {
		return ID{}, errID
	}
	if text[0] == '"' {
		s := scanner{data: text}
		if _, err := s.scanString(); err != nil || s.pos != len(text) || s.pos > maxIDBytes {
			return ID{}, errID
		}
		return ID{string(text)}, nil
	}
	return parseIntID(text)
}

// parseID is like ParseID for text that is known to be valid JSON.
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

// IsZero reports whether id is the zero ID, meaning "no id".
func (id ID) IsZero() bool { return id.text == "" }

// String returns the JSON text of the id.
func (id ID) String() string { return id.text }

// MarshalJSON returns the JSON text of the id, or null if there is none.
func (id ID) MarshalJSON() ([]byte, error) {
	if id.IsZero() {
		return []byte("null"), nil
	}
	return []byte(id.text), nil
}

// UnmarshalJSON parses an id as ParseID does.
func (id *ID) UnmarshalJSON(text []byte) error {
	v, err := ParseID(text)
	if err == nil {
		*id = v
	}
	return err
}
