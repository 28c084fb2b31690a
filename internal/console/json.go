package console

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// PrintJSON writes v to standard output as the answer of a command with --json.
func (c *Console) PrintJSON(v any) error {
	out, err := json.Marshal(v, jsontext.WithIndent("  "), json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Out, "%s\n", EscapeJSON(out))
	return err
}

// PrintJSONLine writes v on one line, for an answer that is a sequence of values, and
// flushes it.
func (c *Console) PrintJSONLine(v any) error {
	out, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "%s\n", EscapeJSON(out))
	return c.Out.Flush()
}

// EscapeJSON returns equivalent JSON in which characters that control a terminal are
// written as \u escapes.
func EscapeJSON(out []byte) []byte {
	if !bytes.ContainsFunc(out, func(r rune) bool { return r != '\n' && isUnsafe(r) }) {
		return out
	}
	var b []byte
	for _, r := range string(out) {
		switch {
		case r == '\n' || !isUnsafe(r):
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, hi, lo)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return b
}
